#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/code_points.h"

namespace policy {

// Which code points an expression tells apart, and a table that reads them from UTF-8 byte by byte. An entry
// is the row for the next byte above, and below the column of the code point that the byte ends; kPartOfOne
// for a byte that ends none. Rows take 256 bytes each.
struct CodePointTable {
  static constexpr std::uint16_t kRow = 0xFF00;
  static constexpr std::uint16_t kColumn = 0x00FF;
  static constexpr std::uint16_t kPartOfOne = 0;
  static constexpr std::size_t kWidth = 256;

  std::vector<std::uint16_t> entries;                 // of row 0, where a code point begins, and the others
  std::size_t columns = 1;                            // kPartOfOne is the first
  std::vector<std::vector<std::uint8_t>> columns_of;  // of each set
};

// The code points that the same sets hold share a column. Nothing when they need too many columns or rows:
// the sets name many separate code points beyond ASCII.
std::optional<CodePointTable> tell_apart(const std::vector<CodePoints>& sets);

}  // namespace policy
