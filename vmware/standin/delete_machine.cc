#include "vmware/standin/clone_records.h"
#include "vmware/standin/held_machine.h"
#include "vmware/standin/layers.h"
#include "vmware/standin/runtime_sweep.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kMaxNames = 100;

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
    if (const auto clone = standing_clone(machine, snapshot); !clone.empty()) {
      return tl::unexpected(clones_error(clone));
    }
  }
  delete_files(machine);
  // The records name the parent until it has forgotten the clone.
  forget_clone(machine);
  (void)remove_file(machine.folder() + "/" + machine.name() + ".vmsd");
  empty_and_remove(machine.path() + ".lck");
  (void)remove_file(machine.folder() + "/vmware.log");
  // The .vmx last: until it is gone, deleting can be done again.
  if (auto removed = remove_file(machine.path()); !removed) {
    return fail("file", std::string(texts::kHostPermission));
  }
  (void)remove_empty_folder(machine.folder());
  remove_entry(held->entry);
  return Answer{};
}

}  // namespace standin
