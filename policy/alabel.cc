#include "policy/alabel.h"

#include <algorithm>
#include <cstdint>

namespace policy {
namespace {

// The parameters of RFC 3492, section 5.
constexpr std::uint32_t kBase = 36, kTMin = 1, kTMax = 26, kSkew = 38, kDamp = 700, kBias = 72, kFirst = 0x80;
constexpr std::size_t kMaxText = 63;  // of a label; keeps every number below far from its limit

std::uint32_t adapt(std::uint32_t delta, std::uint32_t points, bool first) {
  delta = first ? delta / kDamp : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > ((kBase - kTMin) * kTMax) / 2; k += kBase) delta /= kBase - kTMin;
  return k + (kBase - kTMin + 1) * delta / (delta + kSkew);
}

std::optional<std::uint32_t> digit_of(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a');
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 26;
  return std::nullopt;
}

// What no label of an international name holds, by ranges: IDNA drops it, maps it or refuses it.
bool is_foreign(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range kRanges[] = {
      {0x80, 0xA0},        // C1 controls, no-break space
      {0xAD, 0xAD},        // soft hyphen
      {0x061C, 0x061C},    // Arabic letter mark
      {0x1680, 0x1680},    // a space
      {0x180B, 0x180F},    // Mongolian selectors and separator
      {0x2000, 0x200B},    // spaces; the joiners after them are letters of several scripts
      {0x200E, 0x206F},    // directions, separators, dots, fraction slash
      {0x2FF0, 0x3002},    // description characters, ideographic space and full stop
      {0xD800, 0xF8FF},    // surrogates, private use
      {0xFE00, 0xFE1F},    // selectors, vertical forms
      {0xFE30, 0xFE6F},    // small and compatibility forms
      {0xFEFF, 0xFF65},    // byte order mark, full-width forms, half-width full stop
      {0xFFE0, 0xFFFF},    // full-width signs, specials
      {0xE0000, 0x10FFFF}  // tags, private use
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

}  // namespace

std::optional<std::u32string> decode_punycode(std::string_view text) {
  if (text.empty() || text.size() > kMaxText) return std::nullopt;
  std::u32string out;
  if (const auto last = text.rfind('-'); last != std::string_view::npos && last > 0) {
    for (const char c : text.substr(0, last)) {
      if (static_cast<unsigned char>(c) >= kFirst) return std::nullopt;
      out += static_cast<char32_t>(c);
    }
    text.remove_prefix(last + 1);
  }
  std::uint32_t point = kFirst, bias = kBias;
  std::uint64_t place = 0;
  bool first = true;
  while (!text.empty()) {
    const auto before = place;
    std::uint64_t weight = 1;
    for (std::uint32_t k = kBase;; k += kBase) {
      if (text.empty()) return std::nullopt;
      const auto digit = digit_of(text.front());
      if (!digit) return std::nullopt;
      text.remove_prefix(1);
      place += *digit * weight;
      const std::uint32_t threshold = k <= bias ? kTMin : std::min(k - bias, kTMax);
      if (*digit < threshold) break;
      weight *= kBase - threshold;
      // Beyond what the highest code point could need.
      if (place > 0xFFFFFFFF || weight > 0xFFFFFFFF) return std::nullopt;
    }
    if (place > 0xFFFFFFFF) return std::nullopt;
    const auto points = static_cast<std::uint32_t>(out.size()) + 1;
    bias = adapt(static_cast<std::uint32_t>(place - before), points, first);
    first = false;
    if (place / points > 0x10FFFF - point) return std::nullopt;
    point += static_cast<std::uint32_t>(place / points);
    place %= points;
    out.insert(static_cast<std::size_t>(place), 1, static_cast<char32_t>(point));
    ++place;
  }
  return out;
}

bool is_alabel(std::string_view label) {
  constexpr std::string_view kPrefix = "xn--";
  if (!label.starts_with(kPrefix)) return false;
  const auto decoded = decode_punycode(label.substr(kPrefix.size()));
  if (!decoded) return false;
  return std::any_of(decoded->begin(), decoded->end(), [](char32_t c) { return c >= kFirst; }) &&
         std::none_of(decoded->begin(), decoded->end(), is_foreign);
}

}  // namespace policy
