#include "vmware/standin/held_machine.h"

#include "vmware/standin/lock_file.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kMonitorWait{10000};
constexpr Millis kCancelWait{10000};
constexpr char kMarker[] = "unsettled";

}  // namespace

Result<> HeldMachine::settle() {
  if (auto settled = machine.settle(); !settled) return settled;
  find_entry();
  return {};
}

void HeldMachine::find_entry() {
  RuntimeEntry found(folder_of(entry.folder()) + "/" + machine.identity().text());
  if (found.folder() != entry.folder() && exists(entry.folder()) && !exists(found.folder())) {
    (void)rename_file(entry.folder(), found.folder());
  }
  entry = std::move(found);
}

Result<HeldMachine> hold_machine(const std::string& vmx) {
  const auto before = Machine::open(vmx);
  if (!before) return tl::unexpected(before.error());
  auto lock = lock_folder(before->folder());
  if (!lock) return tl::unexpected(lock.error());
  // Whoever had it may have changed it, or taken it away.
  auto machine = Machine::open(vmx);
  if (!machine) return tl::unexpected(machine.error());
  auto entry = entry_of(*machine);
  if (!entry) return tl::unexpected(entry.error());
  return HeldMachine{std::move(*machine), std::move(*entry), std::move(*lock)};
}

Result<> go_on(const RuntimeEntry& entry) {
  auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
  if (!monitor || !monitor->cancel_migration(after(kMonitorWait))) {
    return fail("vm.communication", std::string(texts::kCommunication));
  }
  const Deadline deadline = after(kCancelWait);
  for (;;) {
    const auto state = monitor->migration(after(kMonitorWait));
    if (!state) return tl::unexpected(state.error());
    if (*state == "none" || *state == "completed" || *state == "failed" || *state == "cancelled") break;
    if (left_ms(deadline) == 0) return fail("vm.state", std::string(texts::kCanceled));
    pause_for(Millis{20});
  }
  if (!monitor->resume(after(kMonitorWait))) return fail("vm.state", std::string(texts::kCanceled));
  return {};
}

Result<bool> recover(HeldMachine& held) {
  if (!held.is_on() || !exists(held.entry.file(kMarker))) return false;
  std::string status;
  if (auto monitor = Monitor::connect(held.entry.folder(), after(kMonitorWait))) {
    status = monitor->status(after(kMonitorWait)).value_or("");
  }
  if (status == "running") {
    unmark(held);
    return false;
  }
  if (held.machine.saved_state().empty()) {
    if (auto resumed = go_on(held.entry); !resumed) return tl::unexpected(resumed.error());
    unmark(held);
    return true;
  }
  // The saved state counts: this process was being left, or had not run yet.
  if (auto stopped = power_off(held); !stopped) return tl::unexpected(stopped.error());
  unmark(held);
  LockFile::drop(held.machine);
  return true;
}

Result<> mark_unsettled(const HeldMachine& held) {
  return write_file_atomically(held.entry.file(kMarker), "");
}

void unmark(const HeldMachine& held) { (void)remove_file(held.entry.file(kMarker)); }

}  // namespace standin
