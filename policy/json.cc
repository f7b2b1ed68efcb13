#include "policy/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "policy/utf8.h"

namespace policy {
namespace {

constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 53) - 1;

// Bytes that stand for themselves inside a string.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

}  // namespace

// UTF-16 order differs from byte order only where a supplementary character (surrogates, D800-DFFF) meets a
// character of U+E000-U+FFFF.
bool canonical_less(std::string_view a, std::string_view b) {
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
  std::size_t plain = 0;  // bytes at the front that stand for themselves
  const auto take = [&](std::size_t skip) {
    out.append(text.substr(0, plain));
    text.remove_prefix(plain + skip);
    plain = 0;
  };
  for (;;) {
    const char* from = text.data() + plain;
    const char* const end = text.data() + text.size();
    while (from != end && kPlain[static_cast<unsigned char>(*from)]) ++from;
    plain = static_cast<std::size_t>(from - text.data());
    if (plain == text.size()) break;
    const auto c = static_cast<unsigned char>(text[plain]);
    if (c >= 0x80) {
      auto rest = text.substr(plain);
      if (take_code_point(rest)) {
        plain = text.size() - rest.size();
      } else {
        take(1);
        out += "\xEF\xBF\xBD";
      }
      continue;
    }
    take(1);
    out.push_back('\\');
    switch (c) {
      case '"':
      case '\\':
        out.push_back(static_cast<char>(c));
        break;
      case '\b':
        out.push_back('b');
        break;
      case '\f':
        out.push_back('f');
        break;
      case '\n':
        out.push_back('n');
        break;
      case '\r':
        out.push_back('r');
        break;
      case '\t':
        out.push_back('t');
        break;
      default:
        out += "u00";
        out.push_back(hex[c >> 4]);
        out.push_back(hex[c & 15]);
    }
  }
  out.append(text);
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
                [](const auto* a, const auto* b) { return canonical_less(a->first, b->first); });
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
