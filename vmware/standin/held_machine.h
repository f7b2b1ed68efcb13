#pragma once

#include <string>
#include <utility>

#include "vmware/standin/commands.h"

namespace standin {

// A machine nobody else starts, stops or changes as long as this lives. Who holds it may find it halfway: the
// one before may have been killed.
struct HeldMachine {
  Machine machine;
  RuntimeEntry entry;
  Fd lock;

  bool is_on() const { return entry.is_alive(); }
  // `Machine::settle`, and what is known of the machine goes along with its new identity.
  Result<> settle();
  // The entry of the .vmx as it is now, under the same runtime folder; the machine is off and takes along
  // what was kept of it.
  void find_entry();
};

Result<HeldMachine> hold_machine(const std::string& vmx);

// The machine is on, and what was being done with it when its caller was killed is undone or finished: the
// processors run, or the machine is off and suspended. True when there was anything of that.
Result<bool> recover(HeldMachine& held);
// Around work on a running machine that must not be left halfway.
Result<> mark_unsettled(const HeldMachine& held);
void unmark(const HeldMachine& held);
// The processors of a machine go on, whatever of it was being saved.
Result<> go_on(const RuntimeEntry& entry);

// Puts on disk what a running machine does: its processors stand still then, and it is marked unsettled. On
// failure they go on. Both names are plain.
Result<> save_running(const HeldMachine& held, const std::string& description, const std::string& memory);
// Undoes that.
void abandon_save(const HeldMachine& held, const std::string& description, const std::string& memory);
Result<bool> is_paused(const RuntimeEntry& entry);
// Refuses (`vm.tools`) when the processors stand still: what the guest was asked would wait for them.
Result<> check_guest_can_obey(const HeldMachine& held);
// The guest's address, or what was last known of it.
std::string address_to_remember(const RuntimeEntry& entry);

// QEMU ends at once.
Result<> power_off(const HeldMachine& held);
// Starts QEMU, restoring the saved state if there is one, and lets the processors run unless `paused`.
enum class Processors { running, paused };
Result<> power_on(HeldMachine& held, const Call& call, Processors after);

policy::Error off_error(const Machine& machine);
// What the .vmx asks for, within limits.
unsigned memory_mib_of(const vmware::Vmx& vmx);

}  // namespace standin
