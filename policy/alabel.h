#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace policy {

// Punycode (RFC 3492). Nothing for what is none; every accepted text is the encoding of what it gives.
std::optional<std::u32string> decode_punycode(std::string_view text);

// Whether a label in lower case that begins with `xn--` encodes a label that is not ASCII, and holds no
// control, format, space, full-width or dot-like character. The label is looked up and compared as it stands,
// so nothing depends on the tables of IDNA.
bool is_alabel(std::string_view label);

}  // namespace policy
