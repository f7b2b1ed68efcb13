#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace policy {

// Decimal without sign (`-` where negative ones are allowed), blanks or leading zeros; nothing when it is
// anything else or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Bytes, always with a unit: `B`, `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024) or `kB`, `MB`, `GB`, `TB`
// (powers of 1000). At most 2^53 - 1.
std::optional<std::uint64_t> parse_size(std::string_view text);

// Whole seconds, always with a unit: `s`, `m`, `h`, `d`. At most ten years.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

// `300/1m`: so many in that time.
struct Rate {
  std::int64_t count = 0;
  std::chrono::seconds window{};
};
std::optional<Rate> parse_rate(std::string_view text);

// `2027-03-01`, a day that there is, from the year 2000 on.
std::optional<std::chrono::sys_days> parse_date(std::string_view text);
std::string spell_date(std::chrono::sys_days);

// The shortest exact spelling: `200MiB`, `2h`.
std::string spell_size(std::uint64_t bytes);
std::string spell_duration(std::chrono::seconds);

}  // namespace policy
