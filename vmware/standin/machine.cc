#include "vmware/standin/machine.h"

#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kMaxSnapshotFile = 1 << 20;
constexpr int kMaxOrigins = 8;
constexpr Millis kLockWait{60000};

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
  return machine;
}

std::string Machine::name() const {
  const std::string file = base_name(path_);
  return file.substr(0, file.size() - 4);
}

Result<std::string> Machine::top_disk() const {
  std::string disk = vmx_.get_or("scsi0:0.fileName", "");
  if (!is_plain_name(disk) || !vmx_.is_true("scsi0:0.present")) {
    return fail("vm.invalid", "the virtual disk scsi0:0 must name a file beside the .vmx");
  }
  return disk;
}

Result<std::vector<std::string>> Machine::disk_layers() const {
  const auto top = top_disk();
  if (!top) return tl::unexpected(top.error());
  std::vector<std::string> layers{folder_ + "/" + *top};
  std::string folder = folder_;
  SnapshotTree tree = snapshots_;
  std::uint32_t from = tree.current;
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
  auto lock = lock_path(folder, after(kLockWait));
  if (!lock && lock.error().code == "file.busy") return fail("vm.in_use", std::string(texts::kFileInUse));
  return lock;
}

}  // namespace standin
