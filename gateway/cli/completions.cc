#include "gateway/cli/completions.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

namespace gateway::cli {
namespace {

struct Command {
  std::string path;  // words after the program's name, joined by blanks; empty for the program itself
  std::string what;
  std::vector<std::string> words;  // what may follow: commands and options
};

void collect(const CLI::App& at, const std::string& path, std::vector<Command>& into) {
  Command command{path, at.get_description(), {}};
  const auto subcommands = at.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* one : subcommands) command.words.push_back(one->get_name());
  for (const auto* option : at.get_options()) {
    // Options without a group are not shown; places are no words.
    if (option->get_group().empty() || option->get_lnames().empty()) continue;
    command.words.push_back("--" + option->get_lnames().front());
  }
  into.push_back(std::move(command));
  for (const auto* one : subcommands) {
    collect(*one, path.empty() ? one->get_name() : path + " " + one->get_name(), into);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// bash's; zsh runs it too, through bashcompinit.
std::string for_bash(const std::vector<Command>& commands) {
  std::string out =
      "_sallyport() {\n"
      "  local word path='' i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    case \"$path $word\" in\n";
  std::string patterns;
  for (const auto& command : commands) {
    if (!command.path.empty())
      patterns += std::string(patterns.empty() ? "" : " | ") + "' " + command.path + "'";
  }
  out += "      " + patterns + ") path=\"$path $word\" ;;\n    esac\n  done\n  case \"$path\" in\n";
  for (const auto& command : commands) {
    out += "    '" + (command.path.empty() ? "" : " " + command.path) + "') word='" + joined(command.words) +
           "' ;;\n";
  }
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$word\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
      "}\n"
      "complete -o default -F _sallyport sallyport\n";
  return out;
}

std::string quoted_for_fish(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return "'" + out + "'";
}

std::string for_fish(const std::vector<Command>& commands) {
  std::string out = "complete -c sallyport -f\n";
  for (const auto& command : commands) {
    std::string condition = "__fish_use_subcommand";
    if (!command.path.empty()) {
      condition.clear();
      std::string left = command.path;
      while (!left.empty()) {
        const auto blank = left.find(' ');
        condition += std::string(condition.empty() ? "" : "; and ") + "__fish_seen_subcommand_from " +
                     left.substr(0, blank);
        left = blank == std::string::npos ? "" : left.substr(blank + 1);
      }
    }
    for (const auto& word : command.words) {
      const bool option = word.starts_with("--");
      std::string what;
      for (const auto& other : commands) {
        if (other.path == (command.path.empty() ? word : command.path + " " + word)) what = other.what;
      }
      out += "complete -c sallyport -n " + quoted_for_fish(condition) +
             (option ? " -l " + word.substr(2) : " -a " + word) +
             (what.empty() ? "" : " -d " + quoted_for_fish(what)) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string completions(const CLI::App& program, std::string_view shell) {
  std::vector<Command> commands;
  collect(program, "", commands);
  if (shell == "fish") return for_fish(commands);
  if (shell == "zsh")
    return "#compdef sallyport\nautoload -U +X bashcompinit && bashcompinit\n" + for_bash(commands);
  return for_bash(commands);
}

}  // namespace gateway::cli
