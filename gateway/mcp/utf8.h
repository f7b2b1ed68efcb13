#pragma once

#include <cstddef>
#include <string_view>

namespace gateway::mcp {

// Characters (code points) in valid UTF-8.
std::size_t utf8_count(std::string_view text);

// At most `bytes` of the front of `text`, not ending inside a character.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

}  // namespace gateway::mcp
