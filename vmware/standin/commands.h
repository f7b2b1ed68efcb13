#pragma once

#include <string>

#include "vmware/standin/command_line.h"
#include "vmware/standin/faults.h"
#include "vmware/standin/machine.h"
#include "vmware/standin/runtime.h"

namespace standin {

// What a command prints on success and the exit code with it. A failure is an Error whose message is VMware's
// text.
struct Answer {
  std::string text;
  int exit_code = 0;
};

struct Call {
  CommandLine line;
  Faults faults;
};

Result<Answer> run_command(const Call& call);

// power.cc
Result<Answer> list_machines(const Call& call);
Result<Answer> start_machine(const Call& call);
Result<Answer> stop_machine(const Call& call);
// power_states.cc
Result<Answer> reset_machine(const Call& call);
Result<Answer> suspend_machine(const Call& call);
Result<Answer> pause_machine(const Call& call);
Result<Answer> unpause_machine(const Call& call);
// snapshot_commands.cc
Result<Answer> list_snapshots(const Call& call);
Result<Answer> take_snapshot(const Call& call);
Result<Answer> delete_snapshot(const Call& call);
Result<Answer> revert_to_snapshot(const Call& call);
// clone.cc, delete_machine.cc
Result<Answer> clone_machine(const Call& call);
Result<Answer> delete_machine(const Call& call);
// guest_state.cc
Result<Answer> check_tools_state(const Call& call);
Result<Answer> get_guest_address(const Call& call);
// guest_programs.cc
Result<Answer> run_program_in_guest(const Call& call);
Result<Answer> run_script_in_guest(const Call& call);
Result<Answer> list_processes_in_guest(const Call& call);
Result<Answer> kill_process_in_guest(const Call& call);
// guest_files.cc
Result<Answer> file_exists_in_guest(const Call& call);
Result<Answer> directory_exists_in_guest(const Call& call);
Result<Answer> delete_file_in_guest(const Call& call);
Result<Answer> rename_file_in_guest(const Call& call);
Result<Answer> create_directory_in_guest(const Call& call);
Result<Answer> delete_directory_in_guest(const Call& call);
Result<Answer> list_directory_in_guest(const Call& call);
Result<Answer> create_temp_file_in_guest(const Call& call);
// guest_copy.cc
Result<Answer> copy_to_guest(const Call& call);
Result<Answer> copy_from_guest(const Call& call);
// screen.cc
Result<Answer> capture_screen(const Call& call);
Result<Answer> type_keystrokes_in_guest(const Call& call);
// variables.cc
Result<Answer> read_variable(const Call& call);
Result<Answer> write_variable(const Call& call);

// VMware's sentence for an error of files.h that concerns the caller's own file.
policy::Error host_error(const policy::Error& error);

}  // namespace standin
