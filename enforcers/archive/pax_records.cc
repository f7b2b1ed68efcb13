#include "enforcers/archive/pax_records.h"

#include <algorithm>
#include <set>

namespace enforcers {
namespace {

using tl::unexpected;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Up to 18 digits and nothing else.
std::optional<std::uint64_t> decimal(std::string_view digits) {
  if (digits.empty() || digits.size() > 18 || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

// `[-]SECONDS[.FRACTION]`, rounded down.
std::optional<std::int64_t> seconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto dot = text.find('.');
  const auto whole = decimal(text.substr(0, dot));
  if (!whole) return std::nullopt;
  const std::string_view fraction = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return std::nullopt;
  const bool exact = std::all_of(fraction.begin(), fraction.end(), [](char c) { return c == '0'; });
  const auto value = static_cast<std::int64_t>(*whole);
  return negative ? -value - (exact ? 0 : 1) : value;
}

std::optional<ArchiveFault> take_record(std::string_view key, std::string_view value, PaxRecords& records) {
  if (key.empty() || key.find('\0') != std::string_view::npos) return ArchiveFault::pax_malformed;
  if (key != "comment") records.only_comment = false;
  if (key == "path") {
    if (value.empty()) return ArchiveFault::pax_malformed;
    if (value.find('\0') != std::string_view::npos) return ArchiveFault::nul_in_name;
    records.path = std::string(value);
  } else if (key == "linkpath") {
    records.has_link_path = true;
  } else if (key == "size") {
    if (value.starts_with('-')) return ArchiveFault::negative_size;
    records.size = decimal(value);
    if (!records.size) return ArchiveFault::pax_malformed;
  } else if (key == "mtime") {
    records.modified = seconds(value);
    if (!records.modified) return ArchiveFault::pax_malformed;
  } else if (key == "hdrcharset") {
    // Names are judged as UTF-8 whatever is claimed; another character set would be read otherwise elsewhere.
    if (value != "ISO-IR 10646 2000 UTF-8" && value != "BINARY") return ArchiveFault::pax_malformed;
  } else if (key.starts_with("GNU.sparse") || key == "SUN.holesdata" || key == "SCHILY.realsize" ||
             key == "SCHILY.filetype") {
    return ArchiveFault::sparse;
  } else if (key.starts_with("GNU.volume")) {
    return ArchiveFault::pax_malformed;
  }
  return std::nullopt;
}

}  // namespace

tl::expected<PaxRecords, ArchiveFault> parse_pax_records(std::string_view content) {
  PaxRecords records;
  std::set<std::string_view> keys;
  while (!content.empty()) {
    const auto space = content.find(' ');
    if (space == std::string_view::npos || space > 7 || content.front() == '0') {
      return unexpected(ArchiveFault::pax_malformed);
    }
    const auto length = decimal(content.substr(0, space));
    // A record is at least its length, the blank, one character of key, `=` and the newline.
    if (!length || *length > content.size() || *length < space + 4) {
      return unexpected(ArchiveFault::pax_malformed);
    }
    std::string_view record = content.substr(0, *length);
    content.remove_prefix(*length);
    if (record.back() != '\n') return unexpected(ArchiveFault::pax_malformed);
    record.remove_prefix(space + 1);
    record.remove_suffix(1);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos) return unexpected(ArchiveFault::pax_malformed);
    if (!keys.insert(record.substr(0, equals)).second) return unexpected(ArchiveFault::pax_malformed);
    if (keys.size() > kMaxPaxRecords) return unexpected(ArchiveFault::pax_limit);
    if (const auto fault = take_record(record.substr(0, equals), record.substr(equals + 1), records)) {
      return unexpected(*fault);
    }
  }
  return records;
}

}  // namespace enforcers
