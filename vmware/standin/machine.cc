#include "vmware/standin/machine.h"

#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kMaxSnapshotFile = 1 << 20;
constexpr int kMaxOrigins = 8;
constexpr Millis kLockWait{60000};
constexpr std::string_view kDiskKey = "scsi0:0.fileName";
constexpr std::string_view kStateKey = "checkpoint.vmState";

std::string vmsd_path(const Machine& machine) { return machine.folder() + "/" + machine.name() + ".vmsd"; }

}  // namespace

Result<Machine> Machine::open(const std::string& path) {
  const auto cannot_open = [&path](std::string_view reason) {
    return std::string(texts::kCannotOpen) + path + ", " + std::string(reason);
  };
  const auto canonical = canonical_path(path);
  if (!canonical || !exists(*canonical)) return fail("vm.absent", cannot_open(texts::kNotFound));
  if (!canonical->ends_with(".vmx")) return fail("vm.invalid", std::string(texts::kNotAMachine));
  const auto identity = identity_of(*canonical);
  const auto bytes = read_small_file(*canonical, vmware::Vmx::kMaxFile);
  if (!identity || !bytes) return fail("vm.unreadable", cannot_open(texts::kUnreadable));
  auto vmx = vmware::Vmx::parse_lenient(*bytes);
  if (!vmx || !vmx->get("config.version")) return fail("vm.invalid", std::string(texts::kNotAMachine));

  Machine machine;
  machine.path_ = *canonical;
  machine.folder_ = folder_of(*canonical);
  machine.identity_ = *identity;
  machine.vmx_ = std::move(*vmx);
  const auto records = read_small_file(vmsd_path(machine), kMaxSnapshotFile);
  if (!records && records.error().code != "file.absent") {
    return fail("vm.unreadable", cannot_open(texts::kUnreadable));
  }
  auto tree = SnapshotTree::parse(records.value_or(""));
  if (!tree) return fail("vm.unreadable", cannot_open(texts::kUnreadable));
  machine.snapshots_ = std::move(*tree);
  machine.apply_pending();
  return machine;
}

void Machine::apply_pending() {
  const auto& pending = snapshots_.pending;
  if (!pending) return;
  (void)vmx_.set(kDiskKey, pending->disk);  // checked for being a plain name when it was read
  (void)vmx_.erase(kStateKey);
  if (!pending->saved_state.empty()) (void)vmx_.set(kStateKey, pending->saved_state);
}

std::string Machine::saved_state() const {
  std::string name = vmx_.get_or(kStateKey, "");
  return is_plain_name(name) ? name : std::string();
}

Result<> Machine::commit(PendingChange change) {
  if (!is_recordable(change.disk) || !is_recordable(change.saved_state)) {
    return fail("vm.invalid", std::string(texts::kInvalidParameter));
  }
  snapshots_.pending = std::move(change);
  apply_pending();
  return save_snapshots();
}

Result<> Machine::settle() {
  if (!snapshots_.pending) return {};
  if (auto saved = save_vmx(); !saved) return saved;
  const auto identity = identity_of(path_);
  if (!identity) return tl::unexpected(identity.error());
  identity_ = *identity;
  snapshots_.pending.reset();
  return save_snapshots();
}

Result<> Machine::defer_saved_state() {
  const auto disk = top_disk();
  if (!disk) return tl::unexpected(disk.error());
  if (auto committed = commit({*disk, saved_state()}); !committed) return committed;
  vmware::Vmx without = vmx_;
  (void)without.erase(kStateKey);
  if (auto saved = write_file_atomically(path_, without.write()); !saved) return saved;
  const auto identity = identity_of(path_);
  if (!identity) return tl::unexpected(identity.error());
  identity_ = *identity;
  return {};
}

Result<> Machine::forget_saved_state() {
  (void)vmx_.erase(kStateKey);
  snapshots_.pending.reset();
  return save_snapshots();
}

std::string Machine::name() const {
  const std::string file = base_name(path_);
  return file.substr(0, file.size() - 4);
}

Result<std::string> Machine::top_disk() const {
  std::string disk = vmx_.get_or(kDiskKey, "");
  if (!is_plain_name(disk) || !vmx_.is_true("scsi0:0.present")) {
    return fail("vm.invalid", "the virtual disk scsi0:0 must name a file beside the .vmx");
  }
  return disk;
}

Result<std::vector<std::string>> Machine::disk_layers() const {
  const auto top = top_disk();
  if (!top) return tl::unexpected(top.error());
  return layers_below({folder_ + "/" + *top}, snapshots_.current);
}

Result<std::vector<std::string>> Machine::layers_of(std::uint32_t snapshot) const {
  if (snapshots_.by_uid(snapshot) == nullptr) {
    return fail("snapshot.absent", std::string(texts::kNoSnapshot));
  }
  return layers_below({}, snapshot);
}

Result<std::vector<std::string>> Machine::layers_below(std::vector<std::string> layers,
                                                       std::uint32_t from) const {
  std::string folder = folder_;
  SnapshotTree tree = snapshots_;
  for (int depth = 0;; ++depth) {
    const auto chain = tree.chain(from);
    if (!chain) return tl::unexpected(chain.error());
    for (const Snapshot* snapshot : *chain) layers.push_back(folder + "/" + snapshot->disk);
    if (!tree.origin) break;
    if (depth >= kMaxOrigins) return fail("vm.invalid", "too many clones of clones");
    const auto origin = open(tree.origin->vmx);
    if (!origin) return tl::unexpected(origin.error());
    from = tree.origin->snapshot;
    folder = origin->folder_;
    tree = origin->snapshots_;
    if (tree.by_uid(from) == nullptr) return fail("snapshot.absent", std::string(texts::kNoSnapshot));
  }
  for (const std::string& layer : layers) {
    if (!is_plain_file(layer)) return fail("vm.disk", std::string(texts::kFileNotFound) + ": " + layer);
  }
  return layers;
}

std::vector<std::string> Machine::states() const {
  std::vector<std::string> found;
  if (!saved_state().empty()) found.push_back(saved_state());
  for (const Snapshot& snapshot : snapshots_.snapshots) {
    if (!snapshot.memory.empty()) found.push_back(snapshot.memory);
  }
  return found;
}

std::string Machine::memory_of(const std::string& description) {
  return description.substr(0, description.rfind('.')) + ".vmem";
}

Result<std::string> Machine::base_folder() const {
  std::string folder = folder_;
  auto origin = snapshots_.origin;
  for (int depth = 0; origin; ++depth) {
    if (depth >= kMaxOrigins) return fail("vm.invalid", "too many clones of clones");
    const auto machine = open(origin->vmx);
    if (!machine) return tl::unexpected(machine.error());
    folder = machine->folder_;
    origin = machine->snapshots_.origin;
  }
  return folder;
}

Result<std::string> Machine::base_file(std::string_view key) const {
  const std::string name = vmx_.get_or(key, "");
  if (name.empty()) return name;
  if (!is_plain_name(name)) {
    return fail("vm.invalid", "`" + std::string(key) + "` must be a plain file name in the base folder");
  }
  const auto folder = base_folder();
  if (!folder) return folder;
  std::string path = *folder + "/" + name;
  if (!is_plain_file(path)) return fail("vm.disk", std::string(texts::kFileNotFound) + ": " + path);
  return path;
}

Result<> Machine::save_vmx() const { return write_file_atomically(path_, vmx_.write()); }

Result<> Machine::save_snapshots() const {
  return write_file_atomically(vmsd_path(*this), snapshots_.write(name()));
}

Result<Fd> lock_folder(const std::string& folder) {
  auto lock = lock_existing(folder, after(kLockWait));
  if (!lock && lock.error().code == "file.absent") return fail("vm.absent", std::string(texts::kNotFound));
  if (!lock && lock.error().code == "file.busy") return fail("vm.in_use", std::string(texts::kFileInUse));
  return lock;
}

}  // namespace standin
