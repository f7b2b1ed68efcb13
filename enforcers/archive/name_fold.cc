#include "enforcers/archive/name_fold.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "enforcers/archive/fold_table.h"
#include "policy/utf8.h"

namespace enforcers {
namespace {

// Reads the packed numbers of fold_table.h.
class Numbers final {
 public:
  explicit Numbers(std::string_view packed) : rest_(packed) {}
  bool done() const { return rest_.empty(); }
  std::uint32_t next() {
    std::uint32_t value = 0;
    unsigned shift = 0;
    while (!rest_.empty()) {
      const std::uint32_t digit = digit_of(rest_.front());
      rest_.remove_prefix(1);
      value |= (digit & 31U) << shift;
      shift += 5;
      if (digit < 32) break;
    }
    return value;
  }
  std::int32_t next_signed() {
    const std::uint32_t value = next();
    const auto half = static_cast<std::int32_t>(value / 2);
    return value % 2 == 0 ? half : -half - 1;
  }

 private:
  static std::uint32_t digit_of(char c) {
    const auto at = [&](char from) { return static_cast<std::uint32_t>(c - from); };
    if (c >= '0' && c <= '9') return at('0');
    if (c >= 'A' && c <= 'Z') return at('A') + 10;
    if (c >= 'a' && c <= 'z') return at('a') + 36;
    return c == '-' ? 62 : 63;
  }
  std::string_view rest_;
};

struct Mapping {
  std::u32string folded;
  std::u32string decomposed;
};

class Tables final {
 public:
  Tables() {
    Numbers folds(fold::kFolds);
    char32_t from = 0;
    char32_t to = 0;
    while (!folds.done()) {
      from += folds.next();
      const std::uint32_t count = folds.next();
      Mapping mapping;
      for (std::uint32_t i = 0; i < count / 2; ++i) {
        to = static_cast<char32_t>(static_cast<std::int32_t>(to) + folds.next_signed());
        mapping.folded += to;
      }
      mapping.decomposed = count % 2 == 1 ? mapping.folded : std::u32string(1, from);
      mappings_.emplace(from, std::move(mapping));
    }
    Numbers upper(fold::kUpper);
    from = to = 0;
    while (!upper.done()) {
      from += upper.next();
      std::u32string text;
      for (std::uint32_t count = upper.next(); count > 0; --count) {
        to = static_cast<char32_t>(static_cast<std::int32_t>(to) + upper.next_signed());
        text += to;
      }
      mappings_[from].decomposed = std::move(text);
    }
    Numbers combining(fold::kCombining);
    char32_t at = 0;
    while (!combining.done()) {
      at += combining.next();
      const std::uint32_t length = combining.next();
      const auto value = static_cast<std::uint8_t>(combining.next());
      for (std::uint32_t i = 0; i < length; ++i) classes_.emplace(at++, value);
    }
  }

  const Mapping* find(char32_t c) const {
    const auto at = mappings_.find(c);
    return at == mappings_.end() ? nullptr : &at->second;
  }
  std::uint8_t combining_class(char32_t c) const {
    const auto at = classes_.find(c);
    return at == classes_.end() ? std::uint8_t{0} : at->second;
  }

 private:
  std::unordered_map<char32_t, Mapping> mappings_;
  std::unordered_map<char32_t, std::uint8_t> classes_;
};

const Tables& tables() {
  static const Tables instance;
  return instance;
}

// Unicode, section 3.12: a Hangul syllable is two or three letters.
bool take_hangul(char32_t c, std::u32string& to) {
  if (c < 0xAC00 || c > 0xD7A3) return false;
  const char32_t index = c - 0xAC00;
  to += 0x1100 + index / 588;
  to += 0x1161 + index % 588 / 28;
  if (index % 28 != 0) to += 0x11A7 + index % 28;
  return true;
}

// Puts runs of combining characters into canonical order.
void reorder(std::u32string& text) {
  const auto class_of = [](char32_t c) { return tables().combining_class(c); };
  for (auto at = text.begin(); at != text.end();) {
    if (class_of(*at) == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, text.end(), [&](char32_t c) { return class_of(c) == 0; });
    for (auto next = at; next != end; ++next) {  // a stable insertion sort; the runs are a few characters
      const auto place = std::upper_bound(at, next, *next,
                                          [&](char32_t a, char32_t b) { return class_of(a) < class_of(b); });
      std::rotate(place, next, next + 1);
    }
    at = end;
  }
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string rewrite(std::string_view name, std::u32string Mapping::* form) {
  std::u32string wide;
  while (const auto c = policy::take_code_point(name)) {
    if (take_hangul(*c, wide)) continue;
    if (const Mapping* mapping = tables().find(*c)) {
      wide += mapping->*form;
    } else {
      wide += *c;
    }
  }
  reorder(wide);
  std::string text;
  for (const char32_t c : wide) policy::append_utf8(c, text);
  return text;
}

}  // namespace

std::string fold_name(std::string_view name) {
  if (!is_ascii(name)) return rewrite(name, &Mapping::folded);
  std::string folded(name);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

std::string decompose_name(std::string_view name) {
  return is_ascii(name) ? std::string(name) : rewrite(name, &Mapping::decomposed);
}

}  // namespace enforcers
