#include "policy/units.h"

#include <array>
#include <charconv>
#include <utility>

namespace policy {
namespace {

constexpr std::uint64_t kMaxSize = (std::uint64_t{1} << 53) - 1;
constexpr std::int64_t kMaxSeconds = 10LL * 365 * 24 * 3600;

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 9> kSizes{{
    {"TiB", std::uint64_t{1} << 40},
    {"TB", 1'000'000'000'000},
    {"GiB", std::uint64_t{1} << 30},
    {"GB", 1'000'000'000},
    {"MiB", std::uint64_t{1} << 20},
    {"MB", 1'000'000},
    {"KiB", std::uint64_t{1} << 10},
    {"kB", 1'000},
    {"B", 1},
}};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kTimes{{
    {"d", 86'400},
    {"h", 3'600},
    {"m", 60},
    {"s", 1},
}};

// Splits `200MiB` into 200 and `MiB`.
std::optional<std::pair<std::int64_t, std::string_view>> split(std::string_view text) {
  const auto digits = text.find_first_not_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  const auto number = parse_integer(text.substr(0, digits));
  if (!number) return std::nullopt;
  return std::pair{*number, text.substr(digits)};
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const auto digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (digits.front() == '0' && text != "0") return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  for (const auto& [unit, factor] : kSizes) {
    if (unit != parts->second) continue;
    const auto number = static_cast<std::uint64_t>(parts->first);
    if (number > kMaxSize / factor) return std::nullopt;
    return number * factor;
  }
  return std::nullopt;
}

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  for (const auto& [unit, factor] : kTimes) {
    if (unit != parts->second) continue;
    if (parts->first > kMaxSeconds / factor) return std::nullopt;
    return std::chrono::seconds(parts->first * factor);
  }
  return std::nullopt;
}

std::optional<Rate> parse_rate(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto count = parse_integer(text.substr(0, slash));
  const auto window = parse_duration(text.substr(slash + 1));
  if (!count || *count < 0 || !window || window->count() == 0) return std::nullopt;
  return Rate{*count, *window};
}

std::optional<std::chrono::sys_days> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  int parts[3] = {0, 0, 0};
  int part = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 4 || i == 7) {
      ++part;
    } else if (text[i] < '0' || text[i] > '9') {
      return std::nullopt;
    } else {
      parts[part] = parts[part] * 10 + (text[i] - '0');
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (parts[0] < 2000 || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::string spell_date(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  const auto digits = [](int number, std::size_t width) {
    auto text = std::to_string(number);
    return std::string(width > text.size() ? width - text.size() : 0, '0') + text;
  };
  return digits(static_cast<int>(date.year()), 4) + "-" +
         digits(static_cast<int>(static_cast<unsigned>(date.month())), 2) + "-" +
         digits(static_cast<int>(static_cast<unsigned>(date.day())), 2);
}

std::string spell_size(std::uint64_t bytes) {
  for (const auto& [unit, factor] : kSizes) {
    if (bytes != 0 && bytes % factor == 0) return std::to_string(bytes / factor) + std::string(unit);
  }
  return "0B";
}

std::string spell_duration(std::chrono::seconds time) {
  for (const auto& [unit, factor] : kTimes) {
    if (time.count() != 0 && time.count() % factor == 0) {
      return std::to_string(time.count() / factor) + std::string(unit);
    }
  }
  return "0s";
}

}  // namespace policy
