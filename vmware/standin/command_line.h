#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace standin {

using policy::Result;

enum class Command {
  list,
  start,
  stop,
  list_snapshots,
  snapshot,
  clone,
  delete_vm,
  check_tools_state,
  run_program,
  file_exists,
  copy_to_guest,
  copy_from_guest,
  delete_file,
  capture_screen,
  get_ip_address,
};

enum class Login { needed, not_needed };

// One vmrun command, its words checked for number and spelling but not for what they name.
struct CommandLine {
  Command command = Command::list;
  std::optional<std::string> user;      // -gu
  std::optional<std::string> password;  // -gp
  std::string vmx;                      // as given; empty only for `list`
  std::vector<std::string> words;       // what follows the .vmx, options of the command taken out
  bool no_wait = false;                 // runProgramInGuest -noWait
  bool show_tree = false;               // listSnapshots showTree
  bool hard = false;                    // stop hard
  bool wait = false;                    // getGuestIPAddress -wait
  std::optional<std::string> snapshot;  // clone -snapshot
  std::optional<std::string> clone_name;
};

// The words after the program's name. Errors: `usage` (print the usage text after the message, which is empty
// when the program was called with no words), `usage.unknown` (no such command), `parameter` (the command's
// own words).
Result<CommandLine> parse_command_line(const std::vector<std::string>& words);

Login login_of(Command command);
// VMware's spelling.
std::string_view name_of(Command command);
std::optional<Command> command_named(std::string_view name);

std::string usage_text();

}  // namespace standin
