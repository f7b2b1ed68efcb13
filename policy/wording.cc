#include "policy/wording.h"

namespace policy {

std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string in_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}

std::string place(std::string_view file, Position at) {
  return std::string(file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

}  // namespace policy
