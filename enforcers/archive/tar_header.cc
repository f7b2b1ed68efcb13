#include "enforcers/archive/tar_header.h"

#include <algorithm>
#include <optional>

namespace enforcers {
namespace {

using tl::unexpected;

bool all_zero(std::string_view bytes) {
  return bytes.empty() || (bytes[0] == '\0' && bytes.substr(1) == bytes.substr(0, bytes.size() - 1));
}

// A number field: octal digits, blanks before and blanks or NULs after; or GNU's binary form, whose first
// byte is 0x80, or 0xFF for a negative number.
tl::expected<std::int64_t, ArchiveFault> number(std::string_view field) {
  const auto lead = static_cast<unsigned char>(field.front());
  if (lead == 0x80 || lead == 0xFF) {
    std::uint64_t value = lead == 0xFF ? ~std::uint64_t{0} : 0;
    for (const char c : field.substr(1)) {
      const auto byte = static_cast<unsigned char>(c);
      const std::uint64_t top = value >> 55U;
      if (top != (lead == 0xFF ? 0x1FFU : 0U)) return unexpected(ArchiveFault::bad_number);
      value = (value << 8U) | byte;
    }
    const auto result = static_cast<std::int64_t>(value);
    if ((result < 0) != (lead == 0xFF)) return unexpected(ArchiveFault::bad_number);
    return result;
  }
  const auto first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return unexpected(ArchiveFault::bad_number);
  field.remove_prefix(first);
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; digits < field.size() && field[digits] >= '0' && field[digits] <= '7'; ++digits) {
    value = value * 8 + (field[digits] - '0');  // 12 digits at most: 36 bits
  }
  const std::string_view after = field.substr(digits);
  if (digits == 0 || after.find_first_not_of(std::string_view(" \0", 2)) != std::string_view::npos) {
    return unexpected(ArchiveFault::bad_number);
  }
  return value;
}

// The sum of all bytes, unsigned, with the checksum's own field as blanks.
std::int64_t checksum(std::string_view block) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

// A text field: up to its first NUL. Sets `dirty` when something other than NULs follows.
std::string_view text(std::string_view field, bool& dirty) {
  const auto end = std::min(field.find('\0'), field.size());
  if (!all_zero(field.substr(end))) dirty = true;
  return field.substr(0, end);
}

}  // namespace

bool is_zero_block(std::string_view block) { return all_zero(block); }

tl::expected<TarHeader, ArchiveFault> parse_tar_header(std::string_view block) {
  const bool ustar = block.substr(257, 8) == std::string_view("ustar\00000", 8);
  const bool gnu = block.substr(257, 8) == std::string_view("ustar  \0", 8);
  if (!ustar && !gnu) return unexpected(ArchiveFault::not_tar);
  const auto sum = number(block.substr(148, 8));
  if (!sum || *sum != checksum(block)) return unexpected(ArchiveFault::bad_checksum);

  TarHeader header;
  header.type = block[156] == '\0' ? '0' : block[156];
  if (header.type == 'S') return unexpected(ArchiveFault::sparse);
  // Behind the known fields readers disagree: GNU's sparse map and star's times stand there.
  if (!all_zero(block.substr(gnu ? 345 : 500))) return unexpected(ArchiveFault::not_tar);

  for (const auto& [at, length] : {std::pair{100U, 8U}, std::pair{108U, 8U}, std::pair{116U, 8U}}) {
    if (const auto value = number(block.substr(at, length)); !value) return unexpected(value.error());
  }
  header.executable = (*number(block.substr(100, 8)) & 0100) != 0;
  const auto size = number(block.substr(124, 12));
  if (!size) return unexpected(size.error());
  if (*size < 0) return unexpected(ArchiveFault::negative_size);
  header.size = static_cast<std::uint64_t>(*size);
  const auto modified = number(block.substr(136, 12));
  if (!modified) return unexpected(modified.error());
  header.modified = *modified;

  header.name = text(block.substr(0, 100), header.nul_inside);
  if (ustar) {
    const std::string_view prefix = text(block.substr(345, 155), header.nul_inside);
    if (!prefix.empty()) header.name = std::string(prefix) + "/" + header.name;
  }
  return header;
}

}  // namespace enforcers
