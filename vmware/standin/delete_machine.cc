#include <algorithm>

#include "vmware/standin/held_machine.h"
#include "vmware/standin/layers.h"
#include "vmware/standin/runtime_sweep.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kMaxNames = 100;

// Takes the clone out of the record of the machine it came from. A record that stays is dropped by the next
// clone made there.
void forget_clone(const Machine& clone) {
  const auto& origin = clone.snapshots().origin;
  if (!origin) return;
  const std::string folder = folder_of(origin->vmx);
  Result<Fd> lock = Fd();
  if (folder != clone.folder()) lock = lock_folder(folder);
  if (!lock) return;
  auto parent = Machine::open(origin->vmx);
  if (!parent) return;
  for (Snapshot& snapshot : parent->snapshots().snapshots) std::erase(snapshot.clones, clone.path());
  (void)parent->save_snapshots();
}

void empty_and_remove(const std::string& folder) {
  for (const std::string& name : names_in(folder, kMaxNames)) (void)remove_file(folder + "/" + name);
  (void)remove_empty_folder(folder);
}

}  // namespace

Result<Answer> delete_machine(const Call& call) {
  const auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  if (held->is_on()) return fail("vm.running", std::string(texts::kAlreadyRunning));
  const Machine& machine = held->machine;
  for (const Snapshot& snapshot : machine.snapshots().snapshots) {
    if (std::any_of(snapshot.clones.begin(), snapshot.clones.end(), exists)) {
      return fail("vm.clones", std::string(texts::kNotSupported) + ": it has clones");
    }
  }
  delete_files(machine);
  empty_and_remove(machine.path() + ".lck");
  (void)remove_file(machine.folder() + "/vmware.log");
  // The .vmx last: until it is gone, deleting can be done again.
  if (auto removed = remove_file(machine.path()); !removed) {
    return fail("file", std::string(texts::kHostPermission));
  }
  forget_clone(machine);
  (void)remove_empty_folder(machine.folder());
  remove_entry(held->entry);
  return Answer{};
}

}  // namespace standin
