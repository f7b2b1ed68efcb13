#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "vmware/standin/vocabulary.h"

namespace standin {

using policy::Result;

// One vmrun command, its words checked for number and spelling but not for what they name.
struct CommandLine {
  Command command = Command::list;
  std::optional<std::string> user;      // -gu
  std::optional<std::string> password;  // -gp
  std::string vmx;                      // as given; empty for a command about no machine
  std::vector<std::string> words;       // what follows the .vmx, options of the command taken out
  bool no_wait = false;                 // runProgramInGuest, runScriptInGuest -noWait
  bool show_tree = false;               // listSnapshots showTree
  bool hard = false;                    // stop, reset, suspend hard
  bool wait = false;                    // getGuestIPAddress -wait
  bool full = false;                    // clone full
  bool and_children = false;            // deleteSnapshot andDeleteChildren
  std::optional<std::string> snapshot;  // clone -snapshot
  std::optional<std::string> clone_name;
};

// The words after the program's name. Errors: `usage` (print the usage text after the message, which is empty
// when the program was called with no words), `usage.unknown` (no such command), `parameter` (the command's
// own words).
Result<CommandLine> parse_command_line(const std::vector<std::string>& words);

// Fails on more than this in one word; a guest operation of VMware's holds 65 536 bytes.
inline constexpr std::size_t kMaxWord = 128 << 10;

}  // namespace standin
