#include "vmware/standin/command_line.h"

#include <span>
#include <utility>

#include "vmware/standin/texts.h"
#include "vmware/vmx.h"

namespace standin {
namespace {

using policy::fail;

bool same(std::string_view a, std::string_view b) { return vmware::compare_vmx_keys(a, b) == 0; }

tl::unexpected<policy::Error> invalid() { return fail("parameter", std::string(texts::kInvalidParameter)); }

// Takes `-name=value` or `-name value` at the front of `rest`; false when something else stands there.
Result<bool> take_option(std::span<const std::string>& rest, std::string_view name,
                         std::optional<std::string>& into) {
  const std::string_view word = rest.front();
  if (same(word, name)) {
    if (rest.size() < 2) return invalid();
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
  return invalid();
}

bool takes_run_options(Command command) {
  return command == Command::run_program || command == Command::run_script;
}

Result<> read_words(CommandLine& line, std::span<const std::string> rest) {
  while (!rest.empty()) {
    const std::string_view word = rest.front();
    if (takes_run_options(line.command) && line.words.empty() && word.starts_with("-")) {
      if (same(word, "-noWait")) {
        line.no_wait = true;
      } else if (!same(word, "-activeWindow") && !same(word, "-interactive")) {
        return invalid();
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
      return invalid();
    }
    line.words.emplace_back(word);
    rest = rest.subspan(1);
  }
  return {};
}

// The words that only choose: `start V nogui`, `stop V hard`, `clone V W full`.
Result<> read_choices(CommandLine& line) {
  Result<bool> chosen = false;
  switch (line.command) {
    case Command::start:
      chosen = choice(line.words, "nogui", "gui");
      break;
    case Command::stop:
    case Command::reset:
    case Command::suspend:
      chosen = choice(line.words, "hard", "soft");
      line.hard = chosen.value_or(false);
      break;
    case Command::list_snapshots:
      if (!line.words.empty() && !same(line.words[0], "showTree")) return invalid();
      line.show_tree = !line.words.empty();
      break;
    case Command::delete_snapshot:
      if (line.words.size() > 1 && !same(line.words[1], "andDeleteChildren")) return invalid();
      line.and_children = line.words.size() > 1;
      break;
    case Command::clone:
      if (!same(line.words[1], "full") && !same(line.words[1], "linked")) return invalid();
      line.full = same(line.words[1], "full");
      break;
    case Command::read_variable:
    case Command::write_variable:
      if (!same(line.words[0], "guestVar") && !same(line.words[0], "runtimeConfig") &&
          !same(line.words[0], "guestEnv")) {
        return invalid();
      }
      break;
    default:
      break;
  }
  if (!chosen) return tl::unexpected(chosen.error());
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& words) {
  if (words.empty()) return fail("usage", "");
  CommandLine line;
  std::span<const std::string> rest(words);
  for (const std::string& word : words) {
    if (word.size() > kMaxWord) return invalid();
  }
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

  const Verb* const verb = verb_named(rest.front());
  if (verb == nullptr) return fail("usage.unknown", std::string(texts::kUnknownCommand) + rest.front());
  line.command = verb->command;
  rest = rest.subspan(1);
  if (verb->target == Target::machine) {
    if (rest.empty() || rest.front().empty()) return invalid();
    line.vmx = rest.front();
    rest = rest.subspan(1);
  }
  if (auto read = read_words(line, rest); !read) return tl::unexpected(read.error());
  if (line.words.size() < verb->min_words || line.words.size() > verb->max_words) return invalid();
  if (auto read = read_choices(line); !read) return tl::unexpected(read.error());
  return line;
}

}  // namespace standin
