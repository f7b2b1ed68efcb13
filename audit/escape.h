#pragma once

#include <string>
#include <string_view>

namespace audit {

// Text from guests and agents for a terminal: control characters, C1, DEL, direction-changing and invisible
// characters become `\u{…}`, bytes that are not UTF-8 `\x…`, a backslash `\\`. What comes out is one line
// and moves nothing on the screen.
std::string terminal_safe(std::string_view);
// The same for text of ours that has lines: newlines and backslashes stay.
std::string terminal_safe_lines(std::string_view);
// A canonical JSON line with the same characters as `\uXXXX`: still JSON, of the same value.
std::string terminal_safe_json(std::string_view line);

}  // namespace audit
