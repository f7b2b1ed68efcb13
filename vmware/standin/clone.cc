#include <algorithm>
#include <charconv>
#include <utility>

#include "vmware/standin/clone_records.h"
#include "vmware/standin/disk_images.h"
#include "vmware/standin/held_machine.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::uint64_t kMaxBaseFile = std::uint64_t{1} << 30;
constexpr Millis kDestinationWait{10000};

struct Destination {
  std::string path, folder, name, disk;  // disk is a plain name
  std::string records() const { return folder + "/" + name + ".vmsd"; }
};

policy::Error invalid() { return {"parameter", std::string(texts::kInvalidParameter)}; }

// Of a path whose folder need not be there. Nothing is made.
Result<Destination> destination_of(const std::string& path) {
  if (!path.starts_with("/") || !path.ends_with(".vmx")) return tl::unexpected(invalid());
  const auto folder = canonical_path(folder_of(path));
  if (!folder) return tl::unexpected(invalid());
  Destination to;
  to.folder = *folder;
  to.path = (*folder == "/" ? "" : *folder) + "/" + base_name(path);
  to.name = base_name(path);
  to.name.resize(to.name.size() - 4);
  to.disk = to.name + ".qcow2";
  if (!is_plain_name(to.disk) || !is_recordable(to.path)) return tl::unexpected(invalid());
  return to;
}

// The folder of a clone in the making: nobody else makes anything there, and when it was made for the clone
// it goes again unless the clone is finished.
class Claim final {
 public:
  static Result<Claim> take(const Destination& to, const Machine& parent) {
    Claim claim(to.folder);
    // VMware makes the machine's own folder, not the ones above it.
    if (auto made = make_folder(to.folder); made) {
      claim.made_ = true;
    } else if (made.error().code != "file.exists") {
      return tl::unexpected(host_error(made.error()));
    }
    if (to.folder != parent.folder()) {
      auto lock = lock_existing(to.folder, after(kDestinationWait));
      if (!lock && exists(to.records())) return fail("file.exists", std::string(texts::kFileExists));
      if (!lock) return fail("vm.in_use", std::string(texts::kFileInUse));
      claim.lock_ = std::move(*lock);
    }
    if (exists(to.path)) return fail("file.exists", std::string(texts::kFileExists));
    return claim;
  }
  Claim(Claim&& other) noexcept
      : folder_(std::move(other.folder_)), lock_(std::move(other.lock_)), made_(other.made_) {
    other.made_ = false;
  }
  Claim& operator=(Claim&&) = delete;
  // Goes only when it is empty.
  ~Claim() {
    if (made_) (void)remove_empty_folder(folder_);
  }
  void keep() { made_ = false; }

 private:
  explicit Claim(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  Fd lock_;
  bool made_ = false;
};

// A clone whose maker was killed has no .vmx yet, but the record that it is one of this machine's.
void clear_half_made(const Destination& to, const Machine& parent) {
  if (!are_of_clone(to.records(), parent)) return;
  for (const std::string& name : {to.disk, to.disk + ".part", to.name + ".vmsd"}) {
    (void)remove_file(to.folder + "/" + name);
  }
}

// `clone-busy`: counts the clones tried of this machine.
bool still_busy(const Call& call, const Machine& parent) {
  const auto busy = call.faults.find(Faults::Kind::clone_busy, Command::clone);
  const auto entry = entry_of(parent);
  if (!busy || !entry || !make_private_folder(entry->folder())) return false;
  long tried = 0;
  const std::string text = read_small_file(entry->file("clones-tried"), 32).value_or("");
  std::from_chars(text.data(), text.data() + text.size(), tried);
  if (tried >= std::max(*busy, 1L)) return false;
  (void)write_file_atomically(entry->file("clones-tried"), std::to_string(tried + 1));
  return true;
}

Result<std::string> vmx_of(const Call& call, const Machine& parent, const Destination& to) {
  vmware::Vmx vmx = parent.vmx();
  (void)vmx.erase("checkpoint.vmState");
  if (!vmx.set("scsi0:0.fileName", to.disk) ||
      !vmx.set("displayName", call.line.clone_name.value_or(to.name))) {
    return tl::unexpected(invalid());
  }
  return vmx.write();
}

Result<> clone_linked(Machine& parent, Snapshot& snapshot, const Destination& to, const std::string& vmx) {
  drop_oldest_absent(snapshot);
  if (snapshot.clones.size() >= SnapshotTree::kMaxClones) {
    return fail("snapshot.clones", std::string(texts::kUnknownError) + ": too many clones of this snapshot");
  }
  clear_half_made(to, parent);
  if (exists(to.folder + "/" + to.disk)) return fail("file.exists", std::string(texts::kFileExists));
  SnapshotTree records;
  records.origin = CloneOrigin{parent.path(), snapshot.uid};
  const std::string below = parent.folder() + "/" + snapshot.disk;
  std::erase(snapshot.clones, to.path);
  snapshot.clones.push_back(to.path);
  // Records before what they tell of, its own first: it says of a clone without a .vmx that it never was one
  // (`standing_clone`). The .vmx, which makes it a machine, last.
  auto made = write_file_atomically(to.records(), records.write(to.name));
  if (made) made = parent.save_snapshots();
  if (made) made = create_layer(to.folder + "/" + to.disk, below);
  if (made) made = write_file_atomically(to.path, vmx);
  if (made) return made;
  (void)remove_file(to.folder + "/" + to.disk);
  std::erase(snapshot.clones, to.path);
  (void)parent.save_snapshots();
  (void)remove_file(to.records());
  return made;
}

// A machine that needs no other: with the disk as one image, and its own kernel and credential.
Result<> clone_full(const Machine& parent, const std::vector<std::string>& layers, const Destination& to,
                    const std::string& vmx) {
  const std::string disk = to.folder + "/" + to.disk;
  if (exists(disk)) return fail("file.exists", std::string(texts::kFileExists));
  const std::string part = to.disk + ".part";
  std::vector<std::string> copied{part};
  const auto finish = [&]() -> Result<> {
    if (auto flat = flatten(layers, to.folder + "/" + part); !flat) return flat;
    for (const char* key : kBaseFiles) {
      const auto file = parent.base_file(key);
      if (!file) return tl::unexpected(file.error());
      const std::string name = base_name(*file);
      if (file->empty() || exists(to.folder + "/" + name)) continue;
      copied.push_back(name);
      if (auto done = copy_file(*file, to.folder + "/" + name, kMaxBaseFile); !done) return done;
    }
    // The .vmx before the disk's name: whoever finds the one without the other can delete it.
    if (auto done = write_file_atomically(to.path, vmx); !done) return done;
    if (auto done = rename_file(to.folder + "/" + part, disk); !done) return done;
    return sync_file(disk);
  };
  auto made = finish();
  if (made) return made;
  (void)remove_file(to.path);
  for (const std::string& name : copied) (void)remove_file(to.folder + "/" + name);
  return made;
}

}  // namespace

Result<Answer> clone_machine(const Call& call) {
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  Machine& parent = held->machine;
  if (still_busy(call, parent)) return fail("vm.in_use", std::string(texts::kFileInUse));
  Snapshot* snapshot = nullptr;
  if (call.line.snapshot) {
    snapshot = parent.snapshots().by_name(*call.line.snapshot);
    if (snapshot == nullptr) return fail("snapshot.absent", std::string(texts::kNoSnapshot));
    // VMware's sentence for a snapshot with memory, misleading as it is.
    if (!snapshot->memory.empty()) return fail("vm.running", std::string(texts::kAlreadyRunning));
  } else if (!call.line.full) {
    return fail("snapshot.absent", std::string(texts::kInvalidParameter));
  } else if (held->is_on() || !parent.saved_state().empty()) {
    return fail("vm.running", std::string(texts::kAlreadyRunning));
  }
  const auto to = destination_of(call.line.words[0]);
  if (!to) return tl::unexpected(to.error());
  const auto vmx = vmx_of(call, parent, *to);
  if (!vmx) return tl::unexpected(vmx.error());
  if (exists(to->path)) return fail("file.exists", std::string(texts::kFileExists));
  const auto layers = snapshot != nullptr ? parent.layers_of(snapshot->uid) : parent.disk_layers();
  if (!layers) return tl::unexpected(layers.error());
  auto claim = Claim::take(*to, parent);
  if (!claim) return tl::unexpected(claim.error());
  auto made =
      call.line.full ? clone_full(parent, *layers, *to, *vmx) : clone_linked(parent, *snapshot, *to, *vmx);
  if (!made) return tl::unexpected(made.error());
  claim->keep();
  return Answer{};
}

}  // namespace standin
