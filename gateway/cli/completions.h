#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace gateway::cli {

// The completion script of a shell (bash, zsh, fish), made from the command line itself, so that the two
// agree.
std::string completions(const CLI::App&, std::string_view shell);

}  // namespace gateway::cli
