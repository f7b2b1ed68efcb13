#include <utility>

#include "vmware/standin/guest_agent.h"
#include "vmware/standin/held_machine.h"
#include "vmware/standin/lock_file.h"
#include "vmware/standin/monitor.h"
#include "vmware/standin/saved_state.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kMonitorWait{5000};
constexpr Millis kAddressWait{2000};

tl::unexpected<policy::Error> no_answer() {
  return fail("vm.communication", std::string(texts::kCommunication));
}

// The machine, held, on, and not left halfway by somebody.
Result<HeldMachine> hold_running(const std::string& vmx) {
  auto held = hold_machine(vmx);
  if (!held) return held;
  if (auto recovered = recover(*held); !recovered) return tl::unexpected(recovered.error());
  if (!held->is_on()) return tl::unexpected(off_error(held->machine));
  return held;
}

Result<Answer> order(const Call& call, Result<> (Monitor::*what)(Deadline)) {
  const auto held = hold_running(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  auto monitor = Monitor::connect(held->entry.folder(), after(kMonitorWait));
  if (!monitor || !(*monitor.*what)(after(kMonitorWait))) return no_answer();
  return Answer{};
}

}  // namespace

Result<Answer> pause_machine(const Call& call) { return order(call, &Monitor::pause); }

Result<Answer> unpause_machine(const Call& call) { return order(call, &Monitor::resume); }

Result<Answer> reset_machine(const Call& call) {
  if (call.line.hard) return order(call, &Monitor::reset);
  const auto held = hold_running(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  if (auto checked = check_guest_can_obey(*held); !checked) return tl::unexpected(checked.error());
  {
    auto monitor = Monitor::connect(held->entry.folder(), after(kMonitorWait));
    const auto open = monitor ? monitor->agent_port_open(after(kMonitorWait)) : Result<bool>(false);
    if (!open || !*open) {
      return fail("vm.tools", std::string(texts::kToolsNotRunning) + ": " + held->machine.path());
    }
  }
  auto agent = GuestAgent::connect(held->entry.folder(), after(kMonitorWait));
  if (!agent || !agent->reboot(after(kMonitorWait))) return no_answer();
  return Answer{};
}

Result<bool> is_paused(const RuntimeEntry& entry) {
  auto monitor = Monitor::connect(entry.folder(), after(kMonitorWait));
  if (!monitor) return no_answer();
  const auto status = monitor->status(after(kMonitorWait));
  if (!status) return no_answer();
  return *status != "running";
}

Result<> check_guest_can_obey(const HeldMachine& held) {
  const auto paused = is_paused(held.entry);
  if (!paused) return tl::unexpected(paused.error());
  if (!*paused) return {};
  return fail("vm.tools", std::string(texts::kToolsNotRunning) + ": " + held.machine.path());
}

std::string address_to_remember(const RuntimeEntry& entry) {
  {
    auto monitor = Monitor::connect(entry.folder(), after(kAddressWait));
    const auto status = monitor ? monitor->status(after(kAddressWait)) : Result<std::string>("");
    const auto open = monitor ? monitor->agent_port_open(after(kAddressWait)) : Result<bool>(false);
    if (!status || *status != "running" || !open || !*open) {
      return read_small_file(entry.file("address"), 64).value_or("");
    }
  }
  auto agent = GuestAgent::connect(entry.folder(), after(kAddressWait));
  const auto address = agent ? agent->address(after(kAddressWait)) : Result<std::string>("");
  return address.value_or("");
}

Result<> save_running(const HeldMachine& held, const std::string& description, const std::string& memory) {
  SavedState state;
  state.memory = memory;
  state.hardware = read_small_file(held.entry.file("hardware"), 64 << 10).value_or("");
  state.address = address_to_remember(held.entry);
  const auto text = state.write();
  if (!text) return tl::unexpected(text.error());
  if (auto marked = mark_unsettled(held); !marked) return no_answer();
  const std::string folder = held.machine.folder() + "/";
  auto saved = save_memory(held.entry, folder + memory, memory_mib_of(held.machine.vmx()));
  if (saved) saved = write_file_atomically(folder + description, *text);
  if (saved) return {};
  abandon_save(held, description, memory);
  return saved;
}

void abandon_save(const HeldMachine& held, const std::string& description, const std::string& memory) {
  if (go_on(held.entry)) unmark(held);
  (void)remove_file(held.machine.folder() + "/" + description);
  (void)remove_file(held.machine.folder() + "/" + memory);
}

Result<Answer> suspend_machine(const Call& call) {
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  const auto recovered = recover(*held);
  if (!recovered) return tl::unexpected(recovered.error());
  if (!held->is_on()) {
    // An earlier suspend got that far.
    if (*recovered) return Answer{};
    return tl::unexpected(off_error(held->machine));
  }
  const std::string description = held->machine.name() + ".vmss";
  const std::string memory = held->machine.name() + ".vmem";
  const auto disk = held->machine.top_disk();
  if (!disk) return tl::unexpected(disk.error());
  if (auto saved = save_running(*held, description, memory); !saved) return tl::unexpected(saved.error());
  if (auto committed = held->machine.commit({*disk, description}); !committed) {
    abandon_save(*held, description, memory);
    return tl::unexpected(committed.error());
  }
  // It counts. What is left to do can be done by the next caller as well.
  if (auto stopped = power_off(*held); !stopped) return tl::unexpected(stopped.error());
  unmark(*held);
  LockFile::drop(held->machine);
  if (auto settled = held->settle(); !settled) return tl::unexpected(settled.error());
  return Answer{};
}

}  // namespace standin
