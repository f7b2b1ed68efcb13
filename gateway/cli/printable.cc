#include "gateway/cli/printable.h"

#include <cstdio>

namespace gateway::cli {
namespace {

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  char code[8];
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && kept.find(c) == std::string_view::npos) || u == 0x7F) {
      std::snprintf(code, sizeof code, "\\x%02x", u);
      out += code;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, "\n\t"); }
std::string printable_line(std::string_view text) { return escaped(text, ""); }

}  // namespace gateway::cli
