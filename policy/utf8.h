#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace policy {

// Takes the first code point off `rest`. Nothing (and `rest` unchanged) when it is empty or does not begin
// with well-formed UTF-8 (Unicode 15, table 3-7: no overlong form, no surrogate, nothing above U+10FFFF).
std::optional<char32_t> take_code_point(std::string_view& rest);

bool is_utf8(std::string_view text);

// Appends a code point, which must be a Unicode scalar value.
void append_utf8(char32_t code_point, std::string& to);

}  // namespace policy
