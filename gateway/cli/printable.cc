#include "gateway/cli/printable.h"

#include <cstdio>

#include "policy/utf8.h"

namespace gateway::cli {
namespace {

// Characters above ASCII that command a terminal: C1 controls, line separators, and what turns the direction
// of writing, so that text reads as something else.
bool commands(char32_t c) {
  return (c >= 0x80 && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  char code[16];
  while (!text.empty()) {
    auto rest = text;
    const auto point = policy::take_code_point(rest);
    const auto u = static_cast<unsigned char>(text.front());
    if (point && commands(*point)) {
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(*point));
      out += code;
    } else if (!point || (u < 0x20 && kept.find(text.front()) == std::string_view::npos) || u == 0x7F) {
      std::snprintf(code, sizeof code, "\\x%02x", u);
      out += code;
    } else {
      out += text.substr(0, point ? text.size() - rest.size() : 1);
    }
    text.remove_prefix(point ? text.size() - rest.size() : 1);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, "\n\t"); }
std::string printable_line(std::string_view text) { return escaped(text, ""); }

}  // namespace gateway::cli
