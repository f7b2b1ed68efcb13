#include "policy/json.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace policy {
namespace {

constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 53) - 1;

// Length of the well-formed UTF-8 sequence (RFC 3629) at the front of `text`; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if (b == 0xE0 && byte(1) < 0xA0) return 0;
    if (b == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (b == 0xF0 && byte(1) < 0x90) return 0;
    if (b == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

// UTF-16 order differs from byte order only where a supplementary character (surrogates, D800-DFFF) meets a
// character of U+E000-U+FFFF.
bool utf16_less(std::string_view a, std::string_view b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return a.size() < b.size();
  const auto rank = [](char c) {
    const int u = static_cast<unsigned char>(c);
    if (u >= 0xF0) return 0xEE;  // a high surrogate: after U+D7FF (lead byte 0xED), before U+E000 (0xEE)
    return u >= 0xEE ? u + 1 : u;
  };
  const int left = rank(*x), right = rank(*y);
  if (left != right) return left < right;
  return static_cast<unsigned char>(*x) < static_cast<unsigned char>(*y);
}

}  // namespace

Json& Json::operator[](std::string_view key) {
  auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) {
    std::fprintf(stderr, "sallyport: a key was set on a JSON value that is no object\n");
    std::abort();
  }
  const auto at = object->find(key);
  return at != object->end() ? at->second : object->emplace(std::string(key), Json()).first->second;
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  const auto at = object->find(key);
  return at == object->end() ? nullptr : &at->second;
}

void canonical_string(std::string_view text, std::string& out) {
  static constexpr char hex[] = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    if (c >= 0x80) {
      const std::size_t length = utf8_length(text);
      if (length == 0) {
        out += "\xEF\xBF\xBD";
        text.remove_prefix(1);
      } else {
        out.append(text.substr(0, length));
        text.remove_prefix(length);
      }
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c < 0x20) {
          out += "\\u00";
          out.push_back(hex[c >> 4]);
          out.push_back(hex[c & 15]);
        } else {
          out.push_back(static_cast<char>(c));
        }
    }
    text.remove_prefix(1);
  }
  out.push_back('"');
}

void canonical(const Json& json, std::string& out) {
  struct Writer {
    std::string& to;
    void operator()(bool value) const { to += value ? "true" : "false"; }
    void operator()(std::int64_t value) const {
      if (value > kMaxInteger || value < -kMaxInteger) {
        std::fprintf(stderr, "sallyport: an integer beyond 2^53 reached the log\n");
        std::abort();
      }
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
      to.append(digits, end);
    }
    void operator()(const std::string& value) const { canonical_string(value, to); }
    void operator()(const Json::Array& value) const {
      to.push_back('[');
      bool first = true;
      for (const auto& item : value) {
        if (!first) to.push_back(',');
        first = false;
        canonical(item, to);
      }
      to.push_back(']');
    }
    void operator()(const Json::Object& value) const {
      std::vector<const Json::Object::value_type*> members;
      members.reserve(value.size());
      for (const auto& member : value) members.push_back(&member);
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return utf16_less(a->first, b->first); });
      to.push_back('{');
      bool first = true;
      for (const auto* member : members) {
        if (!first) to.push_back(',');
        first = false;
        canonical_string(member->first, to);
        to.push_back(':');
        canonical(member->second, to);
      }
      to.push_back('}');
    }
  };
  std::visit(Writer{out}, json.value());
}

std::string canonical(const Json& json) {
  std::string out;
  canonical(json, out);
  return out;
}

}  // namespace policy
