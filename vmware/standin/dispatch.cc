#include "vmware/standin/commands.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

// The machine is looked at first, as VMware's does.
Result<Answer> refuse(const Call& call) {
  if (!call.line.vmx.empty()) {
    if (const auto machine = Machine::open(call.line.vmx); !machine) return tl::unexpected(machine.error());
  }
  return policy::fail("unsupported", std::string(texts::kNotSupported));
}

}  // namespace

Result<Answer> run_command(const Call& call) {
  switch (call.line.command) {
    case Command::list:
      return list_machines(call);
    case Command::start:
      return start_machine(call);
    case Command::stop:
      return stop_machine(call);
    case Command::reset:
      return reset_machine(call);
    case Command::suspend:
      return suspend_machine(call);
    case Command::pause:
      return pause_machine(call);
    case Command::unpause:
      return unpause_machine(call);
    case Command::list_snapshots:
      return list_snapshots(call);
    case Command::snapshot:
      return take_snapshot(call);
    case Command::delete_snapshot:
      return delete_snapshot(call);
    case Command::revert_to_snapshot:
      return revert_to_snapshot(call);
    case Command::clone:
      return clone_machine(call);
    case Command::delete_vm:
      return delete_machine(call);
    case Command::check_tools_state:
      return check_tools_state(call);
    case Command::run_program:
      return run_program_in_guest(call);
    case Command::run_script:
      return run_script_in_guest(call);
    case Command::list_processes:
      return list_processes_in_guest(call);
    case Command::kill_process:
      return kill_process_in_guest(call);
    case Command::file_exists:
      return file_exists_in_guest(call);
    case Command::directory_exists:
      return directory_exists_in_guest(call);
    case Command::copy_to_guest:
      return copy_to_guest(call);
    case Command::copy_from_guest:
      return copy_from_guest(call);
    case Command::delete_file:
      return delete_file_in_guest(call);
    case Command::rename_file:
      return rename_file_in_guest(call);
    case Command::create_directory:
      return create_directory_in_guest(call);
    case Command::delete_directory:
      return delete_directory_in_guest(call);
    case Command::list_directory:
      return list_directory_in_guest(call);
    case Command::create_temp_file:
      return create_temp_file_in_guest(call);
    case Command::capture_screen:
      return capture_screen(call);
    case Command::type_keystrokes:
      return type_keystrokes_in_guest(call);
    case Command::get_ip_address:
      return get_guest_address(call);
    case Command::read_variable:
      return read_variable(call);
    case Command::write_variable:
      return write_variable(call);
    case Command::unsupported:
      return refuse(call);
  }
  return policy::fail("usage.unknown", std::string(texts::kUnknownCommand));
}

}  // namespace standin
