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
// storage.cc
Result<Answer> list_snapshots(const Call& call);
Result<Answer> take_snapshot(const Call& call);
Result<Answer> clone_machine(const Call& call);
Result<Answer> delete_machine(const Call& call);
// guest_commands.cc
Result<Answer> check_tools_state(const Call& call);
Result<Answer> run_program_in_guest(const Call& call);
Result<Answer> file_exists_in_guest(const Call& call);
Result<Answer> delete_file_in_guest(const Call& call);
Result<Answer> capture_screen(const Call& call);
Result<Answer> get_guest_address(const Call& call);
// guest_copy.cc
Result<Answer> copy_to_guest(const Call& call);
Result<Answer> copy_from_guest(const Call& call);
// VMware's sentence for an error of files.h that concerns the caller's own file.
policy::Error host_error(const policy::Error& error);

}  // namespace standin
