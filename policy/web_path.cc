#include "policy/web_path.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/utf8.h"
#include "policy/web_fault.h"

namespace policy {
namespace {

std::optional<unsigned> hex(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a' + 10);
  return std::nullopt;
}

// The byte that `%XX` at the beginning of `text` stands for.
std::optional<char> encoded(std::string_view text) {
  if (text.size() < 3 || text.front() != '%') return std::nullopt;
  const auto high = hex(text[1]);
  const auto low = hex(text[2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high << 4 | *low);
}

std::optional<std::string> decode(std::string_view segment) {
  std::string out;
  while (!segment.empty()) {
    char c = segment.front();
    std::size_t length = 1;
    if (c == '%') {
      const auto byte = encoded(segment);
      if (!byte) return std::nullopt;
      c = *byte;
      length = 3;
    }
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F || c == '/' || c == '\\' || c == ';') return std::nullopt;
    out += c;
    segment.remove_prefix(length);
  }
  return out;
}

bool is_ambiguous(std::string_view decoded) {
  if (decoded.empty() || decoded == "." || decoded == ".." || !is_utf8(decoded)) return true;
  for (auto at = decoded.find('%'); at != std::string_view::npos; at = decoded.find('%', at + 1)) {
    if (encoded(decoded.substr(at))) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> path_segments(std::string_view path) {
  std::vector<std::string> segments;
  path = path.substr(0, path.find('?'));
  if (!path.starts_with('/')) return refuse(WebFault::no_path);
  for (path.remove_prefix(1); !path.empty();) {
    const auto segment = path.substr(0, path.find('/'));
    auto decoded = decode(segment);
    if (!decoded || is_ambiguous(*decoded)) return refuse(WebFault::ambiguous_path);
    segments.push_back(std::move(*decoded));
    path.remove_prefix(std::min(path.size(), segment.size() + 1));
  }
  return segments;
}

}  // namespace policy
