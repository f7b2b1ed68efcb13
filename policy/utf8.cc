#include "policy/utf8.h"

#include <array>
#include <cstddef>

namespace policy {

std::optional<char32_t> take_code_point(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  char32_t value = 0;
  if (lead < 0x80) {
    length = 1;
    value = lead;
  } else if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    value = lead & 0x1FU;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    value = lead & 0x0FU;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07U;
  } else {
    return std::nullopt;
  }
  if (rest.size() < length) return std::nullopt;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return std::nullopt;
  }
  rest.remove_prefix(length);
  return value;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_code_point(text)) return false;
  }
  return true;
}

void append_utf8(char32_t c, std::string& to) {
  const auto put = [&](char32_t bits) { to += static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto tail = [&](unsigned shift) { put(0x80U | ((c >> shift) & 0x3FU)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0U | (c >> 6U));
    tail(0);
  } else if (c < 0x10000) {
    put(0xE0U | (c >> 12U));
    tail(6);
    tail(0);
  } else {
    put(0xF0U | (c >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace policy
