#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "enforcers/archive/archive_fault.h"

namespace enforcers {

inline constexpr std::size_t kTarBlock = 512;

// The fields of one header block that matter (POSIX.1-2001 pax and ustar; GNU tar's old format). Owners,
// times other than the modification, and device numbers are checked or passed over, and never kept.
struct TarHeader {
  char type = '0';
  std::string name;         // prefix and name joined; up to the first NUL
  bool nul_inside = false;  // something followed the NUL that ended the name
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
  bool executable = false;
};

// Reads one block, which is not all zeros. Refused: what has no ustar or GNU magic, a checksum that does not
// hold, and numbers that are none.
tl::expected<TarHeader, ArchiveFault> parse_tar_header(std::string_view block);

bool is_zero_block(std::string_view block);

}  // namespace enforcers
