#include "audit/text.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "policy/utf8.h"

namespace audit {
namespace {

constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::size_t kMaxScanned = 256 * 1024;  // of one text; bounds the time that a record may take
constexpr std::size_t kNearCut = 4 * 1024;
constexpr int kMaxDepth = 16;  // of values from outside; a record itself is nested no deeper than twice that
constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 53) - 1;

bool plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

void utf8_or_base64(std::string_view text, bool utf8, std::string& out) {
  if (utf8) return policy::canonical_string(text, out);
  out += R"({"~b64":")";
  out += base64(text);
  out += "\"}";
}

}  // namespace

void CleanWriter::text(std::string_view given, std::size_t limit) {
  // A secret that the first cut splits has no known shape any more: what stands near the cut is left out.
  const bool early = given.size() > kMaxScanned;
  const auto scanned = early ? given.substr(0, kMaxScanned) : given;
  std::string redacted;
  const int found = redactor_.text(scanned, redacted);
  redactions_ += found;
  std::string_view text = found > 0 ? std::string_view(redacted) : scanned;
  if (early) text.remove_suffix(std::min(kNearCut, text.size()));
  const bool utf8 = plain_ascii(text) || policy::is_utf8(early ? front_of(text, text.size() - 1) : text);
  if (!early && text.size() <= limit) return utf8_or_base64(text, utf8, out_);
  cut(given.size(), redactor_.digest(given), utf8 ? front_of(text, limit / 2) : text.substr(0, limit / 2),
      utf8);
}

void CleanWriter::cut(std::size_t bytes, const std::string& digest, std::string_view head, bool utf8) {
  out_ += R"({"~cut":{"bytes":)";
  integer(std::uint64_t{bytes}, out_);
  out_ += R"(,"head":)";
  utf8_or_base64(head, utf8, out_);
  out_ += R"(,"hmac":")";
  out_ += digest;
  out_ += "\"}}";
}

void CleanWriter::value(const policy::Json& value, std::size_t bytes) {
  const std::size_t start = out_.size();
  const int before = redactions_;
  for (std::size_t limit = std::min(kMaxText, bytes); limit >= 64; limit /= 4) {
    out_.resize(start);
    redactions_ = before;
    any(value, limit, 0);
    if (out_.size() - start <= bytes) return;
  }
  const std::string written = out_.substr(start);
  out_.resize(start);
  cut(written.size(), redactor_.digest(written), "", true);
}

void CleanWriter::any(const policy::Json& json, std::size_t limit, int depth) {
  const auto& held = json.value();
  if (const auto* text_held = std::get_if<std::string>(&held)) return text(*text_held, limit);
  if (const auto* number = std::get_if<std::int64_t>(&held)) return integer(*number, out_);
  if (const auto* truth = std::get_if<bool>(&held)) {
    out_ += *truth ? "true" : "false";
    return;
  }
  if (depth == kMaxDepth) return policy::canonical_string("(nested too deep)", out_);
  if (const auto* array = std::get_if<policy::Json::Array>(&held)) {
    out_.push_back('[');
    bool secret = false;
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out_.push_back(',');
      const auto* word = std::get_if<std::string>(&(*array)[i].value());
      if (secret && word != nullptr) {
        redactor_.whole(*word, "login", out_);
        ++redactions_;
      } else {
        any((*array)[i], limit, depth + 1);
      }
      secret = word != nullptr && !secret && Redactor::secret_follows(*word);
    }
    out_.push_back(']');
    return;
  }
  const auto& object = *std::get_if<policy::Json::Object>(&held);
  const auto member_value = [&](std::string_view name, const policy::Json& value) {
    if (!Redactor::secret_member(name)) return any(value, limit, depth + 1);
    const auto* secret = std::get_if<std::string>(&value.value());
    redactor_.whole(secret != nullptr ? *secret : policy::canonical(value), "member", out_);
    ++redactions_;
  };
  out_.push_back('{');
  if (std::all_of(object.begin(), object.end(), [](const auto& m) { return plain_ascii(m.first); })) {
    bool first = true;
    for (const auto& [name, value] : object) {
      if (!std::exchange(first, false)) out_.push_back(',');
      policy::canonical_string(name, out_);
      out_.push_back(':');
      member_value(name, value);
    }
  } else {
    std::vector<std::pair<std::string, const policy::Json*>> members;
    for (const auto& [name, value] : object) {
      members.emplace_back(policy::is_utf8(name) ? name : "~b64:" + base64(name), &value);
    }
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return policy::canonical_less(a.first, b.first); });
    bool first = true;
    for (const auto& [name, value] : members) {
      if (!std::exchange(first, false)) out_.push_back(',');
      policy::canonical_string(name, out_);
      out_.push_back(':');
      member_value(name, *value);
    }
  }
  out_.push_back('}');
}

void member(std::string_view name, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
}

void integer(std::int64_t value, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const bool fits = value <= kMaxInteger && value >= -kMaxInteger;
  if (!fits) out.push_back('"');
  out.append(digits, end);
  if (!fits) out.push_back('"');
}

void integer(std::uint64_t value, std::string& out) {
  if (value <= static_cast<std::uint64_t>(kMaxInteger)) return integer(static_cast<std::int64_t>(value), out);
  out += '"' + std::to_string(value) + '"';
}

std::string_view front_of(std::string_view text, std::size_t limit) {
  std::size_t end = std::min(limit, text.size());
  for (int i = 0;
       i < 3 && end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++i) {
    --end;
  }
  return text.substr(0, end);
}

std::string base64(std::string_view bytes) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0U;
    };
    const std::uint32_t three = at(0) << 16 | at(1) << 8 | at(2);
    out.push_back(letters[three >> 18]);
    out.push_back(letters[three >> 12 & 63]);
    out.push_back(i + 1 < bytes.size() ? letters[three >> 6 & 63] : '=');
    out.push_back(i + 2 < bytes.size() ? letters[three & 63] : '=');
  }
  return out;
}

}  // namespace audit
