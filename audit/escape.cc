#include "audit/escape.h"

#include <cstdint>

#include "policy/utf8.h"

namespace audit {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// Characters that a terminal acts on, or a person cannot see.
bool hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x34F || c == 0x61C || c == 0x115F ||
         c == 0x1160 || c == 0x17B4 || c == 0x17B5 || (c >= 0x180B && c <= 0x180F) ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) ||
         c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF || c == 0xFFA0 ||
         (c >= 0xFFF0 && c <= 0xFFFB) || (c >= 0x1D173 && c <= 0x1D17A) || (c >= 0xE0000 && c <= 0xE0FFF);
}

std::string hex(std::uint32_t value, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.push_back(kHex[value >> shift & 15]);
  return out;
}

template <class Escape>
std::string each(std::string_view text, Escape escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto before = text;
    const auto c = policy::take_code_point(text);
    if (!c) {
      out += "\\x" + hex(static_cast<unsigned char>(text.front()), 2);
      text.remove_prefix(1);
    } else if (!escape(*c, out)) {
      out.append(before.substr(0, before.size() - text.size()));
    }
  }
  return out;
}

bool escape_hidden(char32_t c, std::string& out) {
  if (!hidden(c)) return false;
  int digits = 2;
  while (digits < 6 && (static_cast<std::uint32_t>(c) >> (4 * digits)) != 0) ++digits;
  out += "\\u{" + hex(static_cast<std::uint32_t>(c), digits) + "}";
  return true;
}

}  // namespace

std::string terminal_safe(std::string_view text) {
  return each(text, [](char32_t c, std::string& out) {
    if (c != U'\\') return escape_hidden(c, out);
    out += "\\\\";
    return true;
  });
}

std::string terminal_safe_lines(std::string_view text) {
  return each(text, [](char32_t c, std::string& out) { return c != U'\n' && escape_hidden(c, out); });
}

std::string terminal_safe_json(std::string_view line) {
  return each(line, [](char32_t c, std::string& out) {
    if (!hidden(c)) return false;
    auto code = static_cast<std::uint32_t>(c);
    if (code >= 0x10000) {
      code -= 0x10000;
      out += "\\u" + hex(0xD800 + (code >> 10), 4);
      code = 0xDC00 + (code & 0x3FF);
    }
    out += "\\u" + hex(code, 4);
    return true;
  });
}

}  // namespace audit
