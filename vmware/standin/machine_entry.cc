#include "vmware/standin/machine_entry.h"

#include <algorithm>
#include <utility>

#include "vmware/standin/lock_file.h"
#include "vmware/standin/runtime_sweep.h"

namespace standin {
namespace {

constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxOpenFiles = 4096;

// Whether the process has a disk of the machine open. One whose files cannot be looked at is believed.
bool has_disk_open(const Machine& machine, int pid) {
  std::vector<FileIdentity> disks;
  const auto add = [&](const std::string& name) {
    if (const auto identity = identity_of(machine.folder() + "/" + name)) disks.push_back(*identity);
  };
  if (const auto top = machine.top_disk()) add(*top);
  for (const Snapshot& snapshot : machine.snapshots().snapshots) add(snapshot.disk);
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  const auto open = names_in(folder, kMaxOpenFiles);
  return open.empty() || std::any_of(open.begin(), open.end(), [&](const std::string& name) {
           const auto identity = identity_of(folder + "/" + name);
           return identity && std::find(disks.begin(), disks.end(), *identity) != disks.end();
         });
}

// Nobody else can have made an entry in such a folder.
bool is_trusted(const RuntimeEntry& entry) {
  return entry.folder().starts_with("/") && is_private_folder(folder_of(entry.folder())) &&
         is_private_folder(entry.folder());
}

bool is_there(const RuntimeEntry& entry) {
  const auto identity = identity_of(entry.vmx_path());
  if (identity && identity->text() == base_name(entry.folder())) return true;
  // A .vmx that an editor replaced.
  const auto machine = Machine::open(entry.vmx_path());
  const auto owner = machine ? LockFile::owner(*machine) : std::nullopt;
  return owner && owner->entry == entry.folder();
}

}  // namespace

Result<RuntimeEntry> entry_of(const Machine& machine) {
  const auto root = runtime_root();
  if (!root) return tl::unexpected(root.error());
  RuntimeEntry own(*root + "/" + machine.identity().text());
  if (own.is_alive()) return own;
  const auto owner = LockFile::owner(machine);
  if (!owner) return own;
  RuntimeEntry other(owner->entry);
  if (is_trusted(other) && other.vmx_path() == machine.path() && other.is_alive()) return other;
  const auto pid = process_of_record(owner->process);
  if (pid && has_disk_open(machine, *pid)) return RuntimeEntry(own.folder(), owner->process);
  return own;
}

Result<std::vector<RuntimeEntry>> running_machines() {
  const auto root = runtime_root();
  if (!root) return tl::unexpected(root.error());
  std::vector<RuntimeEntry> running;
  for (const std::string& name : names_in(*root, kMaxEntries)) {
    RuntimeEntry entry(*root + "/" + name);
    const std::string vmx = entry.vmx_path();
    // One that is being made has no path yet.
    if (vmx.empty()) continue;
    if (!entry.is_alive() && !exists(vmx)) remove_entry(entry);
    if (entry.process() && is_there(entry)) running.push_back(std::move(entry));
  }
  std::sort(running.begin(), running.end(),
            [](const RuntimeEntry& a, const RuntimeEntry& b) { return a.vmx_path() < b.vmx_path(); });
  return running;
}

}  // namespace standin
