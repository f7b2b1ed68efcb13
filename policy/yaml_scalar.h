#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace policy::yaml {

// Why a scalar without quotes is refused: readers of YAML disagree on what it means.
struct Trap {
  std::string_view code;  // Y0118 a word, Y0119 a number
  std::string message;
};
std::optional<Trap> plain_scalar_trap(std::string_view text);

}  // namespace policy::yaml
