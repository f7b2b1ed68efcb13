#include "gateway/approval/dialog.h"

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "gateway/mcp/utf8.h"
#include "policy/json.h"
#include "policy/utf8.h"

namespace gateway {
namespace {

constexpr std::size_t kMaxShown = 4000;   // characters of what is approved
constexpr std::size_t kMaxBesides = 500;  // bytes of a text that only explains

void add_unit(std::uint32_t unit, std::string& out) {
  char code[8];
  std::snprintf(code, sizeof code, "\\u%04x", unit & 0xFFFFU);
  out += code;
}

// JSON as the same JSON in printable ASCII without two blanks in a row. Outside of strings there are neither.
std::string ascii(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    auto rest = json;
    const auto point = policy::take_code_point(rest);
    // Canonical JSON is UTF-8.
    const std::uint32_t c = point ? static_cast<std::uint32_t>(*point) : 0xFFFD;
    if (c >= 0x10000) {
      add_unit(0xD800 + ((c - 0x10000) >> 10), out);
      add_unit(0xDC00 + ((c - 0x10000) & 0x3FF), out);
    } else if (c < 0x20 || c > 0x7E || (c == ' ' && out.ends_with(' '))) {
      add_unit(c, out);
    } else {
      out += static_cast<char>(c);
    }
    json.remove_prefix(point ? json.size() - rest.size() : 1);
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string json;
  policy::canonical_string(mcp::utf8_prefix(text, kMaxBesides), json);
  return ascii(json);
}

}  // namespace

std::optional<std::string> dialog_text(const Question& question, std::chrono::seconds left) {
  const auto shown = ascii(policy::canonical(question.what));
  if (shown.size() > kMaxShown) return std::nullopt;
  std::string text = "Sallyport asks: may this be done, once?\n\n";
  text += "action: " + quoted(question.action) + "\n";
  text += "for: user " +
          quoted(question.asker.os_user.empty() ? question.asker.principal.text : question.asker.os_user);
  text += ", who uses a client that calls itself " + quoted(question.asker.client_name) + "\n";
  text += "rule: " + quoted(question.rule.id) + "\n";
  if (!question.reason.empty()) text += "why a person is asked: " + quoted(question.reason) + "\n";
  text += "question: " + question.id + ", open for " + std::to_string(left.count()) + " s\n\n";
  // Indented, it is shown as it is by clients that take the text for Markdown too.
  text += "exactly this:\n\n    " + shown + "\n";
  return text;
}

}  // namespace gateway
