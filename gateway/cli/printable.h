#pragma once

#include <string>
#include <string_view>

namespace gateway::cli {

// Bytes of guests and files as a terminal may get them: escape sequences could rewrite what the reader sees.
// Line ends and tabs stay.
std::string printable(std::string_view text);
// The same on one line.
std::string printable_line(std::string_view text);

}  // namespace gateway::cli
