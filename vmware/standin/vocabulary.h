#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace standin {

enum class Command {
  list,
  start,
  stop,
  reset,
  suspend,
  pause,
  unpause,
  list_snapshots,
  snapshot,
  delete_snapshot,
  revert_to_snapshot,
  clone,
  delete_vm,
  check_tools_state,
  run_program,
  run_script,
  list_processes,
  kill_process,
  file_exists,
  directory_exists,
  copy_to_guest,
  copy_from_guest,
  delete_file,
  rename_file,
  create_directory,
  delete_directory,
  list_directory,
  create_temp_file,
  capture_screen,
  type_keystrokes,
  get_ip_address,
  read_variable,
  write_variable,
  unsupported,  // a word of VMware's that this host type cannot serve
};

enum class Login { needed, not_needed };
enum class Target { machine, none };
enum class Group { power, snapshots, guest, general, not_here };

// One command of vmrun: how it is called.
struct Verb {
  Command command;
  std::string_view name;  // VMware's spelling
  Group group;
  Target target;
  Login login;
  std::size_t min_words;  // after the .vmx, options taken out
  std::size_t max_words;
  std::string_view words;  // for the help
  std::string_view purpose;
};

// All of them, in the order of the help. Several have the command `unsupported`.
std::span<const Verb> vocabulary();
// Without regard to case.
const Verb* verb_named(std::string_view name);
const Verb& verb_of(Command command);

std::string usage_text();

}  // namespace standin
