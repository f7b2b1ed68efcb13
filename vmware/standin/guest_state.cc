#include <algorithm>

#include "vmware/standin/commands.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/saved_state.h"

namespace standin {
namespace {

constexpr Millis kAddressWait{300000};
constexpr Millis kToolsWait{1500};
constexpr char kStaleAddress[] = "192.168.56.101";

// What a suspended machine answers, as VMware's does: the address it had, which says nothing of now.
Result<Answer> address_of_suspended(const Machine& machine) {
  const auto text = read_small_file(machine.folder() + "/" + machine.saved_state(), 64 << 10);
  const auto state = text ? SavedState::parse(*text) : Result<SavedState>(tl::unexpected(text.error()));
  return Answer{(state && !state->address.empty() ? state->address : "unknown") + "\n"};
}

std::string last_address(const RuntimeEntry& entry) {
  return read_small_file(entry.file("address"), 64).value_or("");
}

}  // namespace

Result<Answer> check_tools_state(const Call& call) {
  auto session = GuestSession::open(call, kToolsWait);
  if (session) {
    return Answer{call.faults.find(Faults::Kind::tools_installed, call.line.command) ? "installed\n"
                                                                                     : "running\n"};
  }
  if (session.error().code == "vm.off") return Answer{"unknown\n"};
  if (session.error().code != "vm.tools") return tl::unexpected(session.error());
  return Answer{tools_were_seen(call.line.vmx) ? "installed\n" : "unknown\n"};
}

Result<Answer> get_guest_address(const Call& call) {
  if (call.faults.find(Faults::Kind::address_unknown, call.line.command)) return Answer{"unknown\n"};
  const auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  const auto entry = entry_of(*machine);
  if (!entry) return tl::unexpected(entry.error());
  if (call.faults.find(Faults::Kind::address_stale, call.line.command)) {
    const std::string address = last_address(*entry);
    return Answer{(address.empty() ? kStaleAddress : address) + "\n"};
  }
  if (!entry->is_alive() && !machine->saved_state().empty()) return address_of_suspended(*machine);
  const Deadline deadline = after(call.line.wait ? kAddressWait : Millis{0});
  for (;;) {
    auto session = GuestSession::open(call, kToolsWait);
    if (session) {
      auto address = session->address();
      if (!address) return tl::unexpected(address.error());
      if (!address->empty()) {
        (void)write_file_atomically(entry->file("address"), *address);
        return Answer{*address + "\n"};
      }
      if (!call.line.wait || left_ms(deadline) == 0) return Answer{"unknown\n"};
    } else if (session.error().code != "vm.tools" || left_ms(deadline) == 0) {
      return tl::unexpected(session.error());
    }
    pause_for(Millis{500});
  }
}

}  // namespace standin
