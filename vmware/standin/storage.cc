#include <algorithm>
#include <chrono>
#include <utility>

#include "vmware/standin/commands.h"
#include "vmware/standin/launch.h"
#include "vmware/standin/qcow2.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kImageWait{60000};
constexpr char kQemuImg[] = "/usr/bin/qemu-img";

std::uint64_t now_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

bool is_on(const Machine& machine) {
  const auto entry = entry_of(machine.identity());
  return entry && entry->is_alive();
}

// An empty layer over `below`. The image below is not opened (`-u`): its header may name further files, and
// only its size is wanted.
Result<> create_layer(const std::string& path, const std::string& below) {
  if (exists(path)) return fail("file.exists", std::string(texts::kFileExists));
  const std::string below_path = below.starts_with("/") ? below : folder_of(path) + "/" + below;
  const auto size = qcow2_size(read_head(below_path, kQcow2Head).value_or(""));
  if (!size) return fail("disk", std::string(texts::kUnknownError) + ": not a qcow2 image: " + below_path);
  const auto made = run_program({kQemuImg, "create", "-q", "-u", "-f", "qcow2", "-F", "qcow2", "-b", below,
                                 path, std::to_string(*size)},
                                after(kImageWait), 1 << 16);
  if (!made)
    return fail("disk", std::string(texts::kUnknownError) + ": qemu-img failed: " + made.error().message);
  return {};
}

bool is_snapshot_name(const std::string& name) {
  return !name.empty() && name.size() <= 250 && name.find('/') == std::string::npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// A name `<machine>-NNNNNN.qcow2` that nothing has yet.
Result<std::string> free_layer_name(const Machine& machine) {
  for (int i = 1; i < 1000000; ++i) {
    std::string digits = std::to_string(i);
    digits.insert(0, 6 - digits.size(), '0');
    std::string name = machine.name() + "-" + digits + ".qcow2";
    if (!exists(machine.folder() + "/" + name)) return name;
  }
  return fail("disk", std::string(texts::kUnknownError));
}

// Takes the clone out of the record of the machine it came from.
void forget_clone(const Machine& clone) {
  const auto& origin = clone.snapshots().origin;
  if (!origin) return;
  const auto lock = lock_folder(folder_of(origin->vmx));
  if (!lock) return;
  auto parent = Machine::open(origin->vmx);
  if (!parent) return;
  for (Snapshot& snapshot : parent->snapshots().snapshots) std::erase(snapshot.clones, clone.path());
  (void)parent->save_snapshots();
}

}  // namespace

Result<Answer> list_snapshots(const Call& call) {
  const auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  return Answer{machine->snapshots().listing(call.line.show_tree)};
}

Result<Answer> take_snapshot(const Call& call) {
  const std::string& name = call.line.words[0];
  if (!is_snapshot_name(name)) return fail("parameter", std::string(texts::kInvalidParameter));
  auto first = Machine::open(call.line.vmx);
  if (!first) return tl::unexpected(first.error());
  const auto lock = lock_folder(first->folder());
  if (!lock) return tl::unexpected(lock.error());
  auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  if (is_on(*machine)) return fail("vm.running", std::string(texts::kNotSupported));
  SnapshotTree& tree = machine->snapshots();
  if (tree.by_name(name) != nullptr) return fail("snapshot.exists", std::string(texts::kSnapshotExists));
  if (tree.snapshots.size() >= SnapshotTree::kMax)
    return fail("snapshot.limit", std::string(texts::kUnknownError));

  const auto frozen = machine->top_disk();
  if (!frozen) return tl::unexpected(frozen.error());
  const auto layer = free_layer_name(*machine);
  if (!layer) return tl::unexpected(layer.error());
  // Each step leaves a machine that works: until the .vmx is written the new layer is only a file too many,
  // and the record of a snapshot whose disk is still the top one is what the next attempt finds and refuses.
  if (auto made = create_layer(machine->folder() + "/" + *layer, *frozen); !made)
    return tl::unexpected(made.error());
  if (auto kept = make_read_only(machine->folder() + "/" + *frozen); !kept)
    return tl::unexpected(kept.error());
  Snapshot snapshot;
  snapshot.uid = ++tree.last_uid;
  snapshot.parent = tree.current;
  snapshot.name = name;
  snapshot.disk = *frozen;
  snapshot.created_us = now_us();
  tree.current = snapshot.uid;
  tree.snapshots.push_back(std::move(snapshot));
  if (auto set = machine->vmx().set("scsi0:0.fileName", *layer); !set) return tl::unexpected(set.error());
  if (auto saved = machine->save_vmx(); !saved) return tl::unexpected(saved.error());
  if (auto saved = machine->save_snapshots(); !saved) return tl::unexpected(saved.error());
  return Answer{};
}

Result<Answer> clone_machine(const Call& call) {
  const std::string& destination = call.line.words[0];
  if (!destination.starts_with("/") || !destination.ends_with(".vmx") || destination.ends_with("/.vmx")) {
    return fail("parameter", std::string(texts::kInvalidParameter));
  }
  auto first = Machine::open(call.line.vmx);
  if (!first) return tl::unexpected(first.error());
  const auto lock = lock_folder(first->folder());
  if (!lock) return tl::unexpected(lock.error());
  auto parent = Machine::open(call.line.vmx);
  if (!parent) return tl::unexpected(parent.error());
  SnapshotTree& tree = parent->snapshots();
  Snapshot* snapshot = call.line.snapshot ? tree.by_name(*call.line.snapshot) : nullptr;
  if (snapshot == nullptr) {
    return fail("snapshot.absent",
                call.line.snapshot ? std::string(texts::kNoSnapshot) : std::string(texts::kInvalidParameter));
  }
  // Who deletes a clone without deleteVM leaves its record; such records would add up.
  std::erase_if(snapshot->clones, [](const std::string& clone) { return !exists(clone); });
  if (snapshot->clones.size() >= SnapshotTree::kMaxClones) {
    return fail("snapshot.clones", std::string(texts::kUnknownError) + ": too many clones of this snapshot");
  }

  // VMware makes the machine's own folder, not the ones above it.
  if (!exists(folder_of(destination))) (void)make_folder(folder_of(destination));
  const auto path = canonical_path(destination);
  if (!path) return fail("parameter", std::string(texts::kInvalidParameter));
  if (exists(*path)) return fail("file.exists", std::string(texts::kFileExists));
  const std::string folder = folder_of(*path);
  std::string name = base_name(*path);
  name.resize(name.size() - 4);
  const std::string disk = name + ".qcow2";
  if (!is_plain_name(disk)) return fail("parameter", std::string(texts::kInvalidParameter));
  if (auto made = create_layer(folder + "/" + disk, parent->folder() + "/" + snapshot->disk); !made) {
    return tl::unexpected(made.error());
  }

  vmware::Vmx vmx = parent->vmx();
  SnapshotTree records;
  records.origin = CloneOrigin{parent->path(), snapshot->uid};
  snapshot->clones.push_back(*path);
  const auto write_all = [&]() -> Result<> {
    if (auto set = vmx.set("scsi0:0.fileName", disk); !set) return set;
    if (auto set = vmx.set("displayName", call.line.clone_name.value_or(name)); !set) return set;
    if (auto saved = write_file_atomically(folder + "/" + name + ".vmsd", records.write(name)); !saved)
      return saved;
    if (auto saved = parent->save_snapshots(); !saved) return saved;
    return write_file_atomically(*path, vmx.write());
  };
  if (auto written = write_all(); !written) {
    (void)remove_file(folder + "/" + disk);
    (void)remove_file(folder + "/" + name + ".vmsd");
    return tl::unexpected(written.error());
  }
  return Answer{};
}

Result<Answer> delete_machine(const Call& call) {
  const auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  const auto entry = entry_of(machine->identity());
  if (!entry) return tl::unexpected(entry.error());
  if (entry->is_alive()) return fail("vm.running", std::string(texts::kAlreadyRunning));
  for (const Snapshot& snapshot : machine->snapshots().snapshots) {
    for (const std::string& clone : snapshot.clones) {
      if (exists(clone)) return fail("vm.clones", std::string(texts::kNotSupported) + ": it has clones");
    }
  }
  forget_clone(*machine);
  const std::string stem = machine->folder() + "/" + machine->name();
  if (const auto top = machine->top_disk()) (void)remove_file(machine->folder() + "/" + *top);
  for (const Snapshot& snapshot : machine->snapshots().snapshots) {
    (void)remove_file(machine->folder() + "/" + snapshot.disk);
  }
  for (const std::string& name : names_in(machine->path() + ".lck", 100)) {
    (void)remove_file(machine->path() + ".lck/" + name);
  }
  (void)remove_empty_folder(machine->path() + ".lck");
  for (const char* ending : {".vmsd", ".vmxf", ".nvram"}) (void)remove_file(stem + ending);
  (void)remove_file(machine->folder() + "/vmware.log");
  if (auto removed = remove_file(machine->path()); !removed) {
    return fail("file", std::string(texts::kHostPermission));
  }
  (void)remove_empty_folder(machine->folder());
  for (const std::string& name : names_in(entry->qemu_folder(), 100)) {
    (void)remove_file(entry->qemu_folder() + "/" + name);
  }
  (void)remove_empty_folder(entry->qemu_folder());
  for (const std::string& name : names_in(entry->folder(), 100))
    (void)remove_file(entry->folder() + "/" + name);
  (void)remove_empty_folder(entry->folder());
  return Answer{};
}

}  // namespace standin
