#pragma once

#include <compare>
#include <vector>

namespace policy {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Both ends belong to it.
struct CodePointRange {
  char32_t first;
  char32_t last;
  auto operator<=>(const CodePointRange&) const = default;
};

// Ranges in order, with a gap between each two.
using CodePoints = std::vector<CodePointRange>;

// Any ranges, put in order and joined.
CodePoints joined(std::vector<CodePointRange> ranges);
// All code points that are not among them.
CodePoints others(const CodePoints&);

}  // namespace policy
