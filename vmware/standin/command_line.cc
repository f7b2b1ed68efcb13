#include "vmware/standin/command_line.h"

#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "vmware/standin/texts.h"
#include "vmware/vmx.h"

namespace standin {
namespace {

using policy::fail;

struct Grammar {
  Command command;
  std::string_view name;
  Login login;
  std::size_t min_words;  // after the .vmx, options taken out
  std::size_t max_words;
  std::string_view usage;
};

constexpr std::size_t kAny = 4096;

constexpr Grammar kGrammar[] = {
    {Command::list, "list", Login::not_needed, 0, 0, ""},
    {Command::start, "start", Login::not_needed, 0, 1, "[gui|nogui]"},
    {Command::stop, "stop", Login::not_needed, 0, 1, "[hard|soft]"},
    {Command::list_snapshots, "listSnapshots", Login::not_needed, 0, 1, "[showTree]"},
    {Command::snapshot, "snapshot", Login::not_needed, 1, 1, "Snapshot name"},
    {Command::clone, "clone", Login::not_needed, 2, 2,
     "Path to destination .vmx file full|linked [-snapshot=Snapshot Name] [-cloneName=Name]"},
    {Command::delete_vm, "deleteVM", Login::not_needed, 0, 0, ""},
    {Command::check_tools_state, "checkToolsState", Login::not_needed, 0, 0, ""},
    {Command::run_program, "runProgramInGuest", Login::needed, 1, kAny,
     "[-noWait] [-activeWindow] [-interactive] Complete-Path-To-Program [Program arguments]"},
    {Command::file_exists, "fileExistsInGuest", Login::needed, 1, 1, "Path to file in guest"},
    {Command::copy_to_guest, "CopyFileFromHostToGuest", Login::needed, 2, 2, "Path on host Path in guest"},
    {Command::copy_from_guest, "CopyFileFromGuestToHost", Login::needed, 2, 2, "Path in guest Path on host"},
    {Command::delete_file, "deleteFileInGuest", Login::needed, 1, 1, "Path in guest"},
    {Command::capture_screen, "captureScreen", Login::needed, 1, 1, "Path on host"},
    {Command::get_ip_address, "getGuestIPAddress", Login::not_needed, 0, 0, "[-wait]"},
};

bool same(std::string_view a, std::string_view b) { return vmware::compare_vmx_keys(a, b) == 0; }

const Grammar& grammar_of(Command command) {
  for (const Grammar& grammar : kGrammar) {
    if (grammar.command == command) return grammar;
  }
  return kGrammar[0];
}

// Takes `-name=value` or `-name value` at the front of `rest`; false when something else stands there.
Result<bool> take_option(std::span<const std::string>& rest, std::string_view name,
                         std::optional<std::string>& into) {
  const std::string_view word = rest.front();
  if (same(word, name)) {
    if (rest.size() < 2) return fail("parameter", std::string(texts::kInvalidParameter));
    into = rest[1];
    rest = rest.subspan(2);
    return true;
  }
  if (word.size() > name.size() && word[name.size()] == '=' && same(word.substr(0, name.size()), name)) {
    into = std::string(word.substr(name.size() + 1));
    rest = rest.subspan(1);
    return true;
  }
  return false;
}

// The word that chooses between two meanings of a command: `start V nogui`, `stop V hard`.
Result<bool> choice(const std::vector<std::string>& words, std::string_view yes, std::string_view no) {
  if (words.empty()) return false;
  if (same(words[0], yes)) return true;
  if (same(words[0], no)) return false;
  return fail("parameter", std::string(texts::kInvalidParameter));
}

Result<> read_words(CommandLine& line, std::span<const std::string> rest) {
  while (!rest.empty()) {
    const std::string_view word = rest.front();
    if (line.command == Command::run_program && line.words.empty() && word.starts_with("-")) {
      if (same(word, "-noWait")) {
        line.no_wait = true;
      } else if (!same(word, "-activeWindow") && !same(word, "-interactive")) {
        return fail("parameter", std::string(texts::kInvalidParameter));
      }
      rest = rest.subspan(1);
      continue;
    }
    if (line.command == Command::get_ip_address && same(word, "-wait")) {
      line.wait = true;
      rest = rest.subspan(1);
      continue;
    }
    if (line.command == Command::clone && word.starts_with("-")) {
      auto snapshot = take_option(rest, "-snapshot", line.snapshot);
      if (!snapshot) return tl::unexpected(snapshot.error());
      if (*snapshot) continue;
      auto clone_name = take_option(rest, "-cloneName", line.clone_name);
      if (!clone_name) return tl::unexpected(clone_name.error());
      if (*clone_name) continue;
      return fail("parameter", std::string(texts::kInvalidParameter));
    }
    line.words.emplace_back(word);
    rest = rest.subspan(1);
  }
  return {};
}

}  // namespace

Login login_of(Command command) { return grammar_of(command).login; }

std::string_view name_of(Command command) { return grammar_of(command).name; }

std::optional<Command> command_named(std::string_view name) {
  for (const Grammar& grammar : kGrammar) {
    if (same(grammar.name, name)) return grammar.command;
  }
  return std::nullopt;
}

Result<CommandLine> parse_command_line(const std::vector<std::string>& words) {
  if (words.empty()) return fail("usage", "");
  CommandLine line;
  std::span<const std::string> rest(words);
  while (!rest.empty() && rest.front().starts_with("-")) {
    const std::string& flag = rest.front();
    if (flag != "-T" && flag != "-gu" && flag != "-gp" && flag != "-vp") {
      return fail("usage", std::string(texts::kInvalidArgument) + flag);
    }
    if (rest.size() < 2) return fail("usage", std::string(texts::kInvalidArgument) + flag);
    const std::string& value = rest[1];
    if (flag == "-T" && value != "ws") return fail("host", std::string(texts::kWrongHost));
    if (flag == "-gu") line.user = value;
    if (flag == "-gp") line.password = value;
    rest = rest.subspan(2);
  }
  if (rest.empty()) return fail("usage", "");

  const auto command = command_named(rest.front());
  if (!command) return fail("usage.unknown", std::string(texts::kUnknownCommand) + rest.front());
  line.command = *command;
  rest = rest.subspan(1);
  const Grammar& grammar = grammar_of(*command);
  if (*command != Command::list) {
    if (rest.empty() || rest.front().empty()) return fail("parameter", std::string(texts::kInvalidParameter));
    line.vmx = rest.front();
    rest = rest.subspan(1);
  }
  if (auto read = read_words(line, rest); !read) return tl::unexpected(read.error());
  if (line.words.size() < grammar.min_words || line.words.size() > grammar.max_words) {
    return fail("parameter", std::string(texts::kInvalidParameter));
  }

  Result<bool> chosen = false;
  if (*command == Command::start) chosen = choice(line.words, "nogui", "gui");
  if (*command == Command::stop) chosen = choice(line.words, "hard", "soft");
  if (*command == Command::list_snapshots && !line.words.empty()) {
    chosen = same(line.words[0], "showTree") ? Result<bool>(true)
                                             : fail("parameter", std::string(texts::kInvalidParameter));
  }
  if (!chosen) return tl::unexpected(chosen.error());
  line.hard = *command == Command::stop && *chosen;
  line.show_tree = *command == Command::list_snapshots && *chosen;
  if (*command == Command::clone && !same(line.words[1], "linked")) {
    return fail("parameter",
                std::string(same(line.words[1], "full") ? texts::kNotSupported : texts::kInvalidParameter));
  }
  return line;
}

std::string usage_text() {
  std::string text = "\n\nvmrun version " + std::string(texts::kVersion) +
                     "\n\nUsage: vmrun [-T ws] [-vp PASSWORD] [-gu GUEST-USER] [-gp GUEST-PASSWORD] COMMAND "
                     "[PARAMETERS]\n\nCommands:\n";
  for (const Grammar& grammar : kGrammar) {
    text += "  " + std::string(grammar.name);
    if (grammar.command != Command::list) text += " Path-to-vmx-file";
    if (!grammar.usage.empty()) text += " " + std::string(grammar.usage);
    text += "\n";
  }
  return text;
}

}  // namespace standin
