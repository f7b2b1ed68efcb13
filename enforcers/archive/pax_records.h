#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "enforcers/archive/archive_fault.h"

namespace enforcers {

inline constexpr std::size_t kMaxPaxRecords = 128;

// What an extended header says that matters to us; the rest (owners, times, attributes) is passed over.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> modified;  // seconds since 1970, rounded down
  bool has_link_path = false;
  bool only_comment = true;  // holds nothing but `comment`
};

// Reads the content of an extended header (POSIX.1-2001, pax): records `LENGTH KEY=VALUE\n`. Refused: a
// length that does not fit, a key twice, an empty path, a size that is no number, anything of sparse files.
tl::expected<PaxRecords, ArchiveFault> parse_pax_records(std::string_view content);

}  // namespace enforcers
