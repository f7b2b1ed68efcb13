#include "policy/yaml_text.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "policy/utf8.h"
#include "policy/yaml.h"

namespace policy::yaml {
namespace {

// UTF-16 and UTF-32 show themselves by their mark, or by NUL bytes beside the first character.
bool looks_wide(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  return text.size() >= 2 && (text[0] == '\0' || text[1] == '\0');
}

std::string spell_code_point(char32_t c) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "U+%04X", static_cast<unsigned>(c));
  return buffer;
}

// Offset of a `%` that begins the first line with content, which makes it a directive.
std::optional<std::size_t> directive(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto line = text.substr(at, text.find('\n', at) - at);
    const auto content = line.find_first_not_of(" \t\r");
    if (content != std::string_view::npos && line[content] != '#') {
      if (line.front() == '%') return at;
      return std::nullopt;
    }
    at += line.size() + 1;
  }
  return std::nullopt;
}

bool check_characters(std::string_view text, Lines& lines, std::string_view file, Diagnostics& into) {
  bool good = true;
  bool indenting = true;
  auto rest = text;
  while (!rest.empty()) {
    const auto offset = text.size() - rest.size();
    const auto point = take_code_point(rest);
    if (!point) {
      into.error("Y0104", file, lines.at(offset), "the file is not UTF-8 from here on");
      return false;
    }
    if (*point == '\r' && !rest.starts_with('\n')) {
      into.error("Y0105", file, lines.at(offset), "a carriage return may only stand before a line feed");
      good = false;
    } else if (*point == '\t' && indenting) {
      into.error("Y0106", file, lines.at(offset), "a tab may not indent a line; use blanks");
      good = false;
    } else if (const auto why = *point == '\r' ? std::nullopt : forbidden(*point)) {
      into.error("Y0105", file, lines.at(offset),
                 std::string(*why) + " " + spell_code_point(*point) + " may not stand in a file");
      good = false;
    }
    indenting = *point == '\n' || (indenting && (*point == ' ' || *point == '\t'));
  }
  return good;
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text), starts_{0} {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    starts_.push_back(at + 1);
  }
}

Position Lines::at(std::size_t offset) {
  offset = std::min(offset, text_.size());
  const auto line = std::prev(std::upper_bound(starts_.begin(), starts_.end(), offset));
  if (counted_ < *line || counted_ > offset) {
    counted_ = *line;
    characters_ = 0;
  }
  // Every byte but a continuation byte begins a character.
  const auto between = text_.substr(counted_, offset - counted_);
  characters_ += static_cast<std::size_t>(std::count_if(
      between.begin(), between.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  counted_ = offset;
  return {static_cast<int>(line - starts_.begin()) + 1, static_cast<int>(characters_) + 1};
}

std::optional<std::string_view> forbidden(char32_t c) {
  if (c == '\n' || c == '\t') return std::nullopt;
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return "the control character";
  if (c == 0x2028 || c == 0x2029) return "the line separator";
  if (c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
      (c >= 0x2066 && c <= 0x2069)) {
    return "the direction-changing character";
  }
  if (c == 0x00AD || c == 0x034F || c == 0x180E || (c >= 0x200B && c <= 0x200D) ||
      (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
      (c >= 0xE0000 && c <= 0xE007F)) {
    return "the invisible character";
  }
  if ((c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF)) return "the non-character";
  return std::nullopt;
}

bool check_text(std::string_view text, Lines& lines, std::string_view file, Diagnostics& into) {
  if (text.size() > kMaxBytes) {
    into.error("Y0101", file, lines.at(kMaxBytes),
               "the file is larger than " + std::to_string(kMaxBytes) + " bytes; split it");
    return false;
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    into.error("Y0102", file, {1, 1}, "the file begins with a byte order mark; save it as UTF-8 without one");
    return false;
  }
  if (looks_wide(text)) {
    into.error("Y0103", file, {1, 1}, "the file is UTF-16 or UTF-32; save it as UTF-8");
    return false;
  }
  if (!check_characters(text, lines, file, into)) return false;
  if (const auto at = directive(text)) {
    into.error("Y0107", file, lines.at(*at),
               "directives (`%`) are not part of this language; remove the line");
    return false;
  }
  return true;
}

}  // namespace policy::yaml
