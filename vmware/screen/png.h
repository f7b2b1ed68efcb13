#pragma once

#include <string_view>

#include "policy/result.h"

namespace vmware {

inline constexpr std::size_t kMaxPng = 16 << 20;

// Whether these bytes are what a PNG file begins and ends with, and its sides are 1 to 16384 pixels. The
// picture's content is the guest's and is not looked at. Code `screenshot.damaged`.
policy::Result<> check_png(std::string_view bytes);

}  // namespace vmware
