#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

// The keys of a US keyboard that give each character of a text, pressed together, in QEMU's names. Nothing
// when the keyboard has no key for one of them: anything but ASCII, and control characters other than TAB and
// line ends.
std::optional<std::vector<std::vector<std::string>>> keys_for(std::string_view text);

}  // namespace standin
