#include "policy/regex_syntax.h"

#include <optional>
#include <string>
#include <utility>

#include "policy/regex_class.h"
#include "policy/utf8.h"

namespace policy {
namespace {

using Kind = RegexTree::Kind;

constexpr std::size_t kDeepest = 100;  // groups within groups

// How many times something is repeated.
struct Times {
  std::uint32_t least, most;
};

class Reader {
 public:
  explicit Reader(std::string_view pattern) : rest_(pattern) {}

  Result<RegexTree> read() {
    const auto root = alternatives();
    if (root && !rest_.empty()) refuse("`" + std::string(rest_.substr(0, 1)) + "` here");
    if (!refused_.empty()) return fail("policy.pattern", "this regular expression uses " + refused_);
    tree_.root = *root;
    return std::move(tree_);
  }

 private:
  using Part = std::optional<std::uint32_t>;  // nothing: refused

  Part refuse(std::string what) {
    if (refused_.empty()) refused_ = std::move(what) + ", which is not supported";
    return std::nullopt;
  }
  std::uint32_t add(RegexTree::Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  Part alternatives() {
    std::vector<std::uint32_t> all;
    do {
      const auto one = sequence();
      if (!one) return one;
      all.push_back(*one);
    } while (!quoted_ && take("|"));
    return all.size() == 1 ? all.front() : add({Kind::alternative, {}, std::move(all)});
  }

  Part sequence() {
    std::vector<std::uint32_t> all;
    while (!rest_.empty() && (quoted_ || (rest_.front() != '|' && rest_.front() != ')'))) {
      const auto one = part();
      if (!one) return one;
      all.push_back(*one);
      // What follows `\E` repeats the last character before it.
      const bool closed = quoted_ && take("\\E");
      if (closed) quoted_ = false;
      if (!quoted_ && !repeat(all.back())) return std::nullopt;
    }
    return all.size() == 1 ? all.front() : add({Kind::sequence, {}, std::move(all)});
  }

  // Takes a repetition of `node`, when there is one.
  bool repeat(std::uint32_t& node) {
    const auto times = repetition();
    if (!times) return true;
    if (last_is_silent_) {
      refuse("a repetition of what is no part of the text");
      return false;
    }
    node = add({Kind::repeated, {}, {node}, times->least, times->most});
    return true;
  }

  std::optional<Times> repetition() {
    std::optional<Times> times;
    if (take("*")) {
      times = Times{0, RegexTree::kNoEnd};
    } else if (take("+")) {
      times = Times{1, RegexTree::kNoEnd};
    } else if (take("?")) {
      times = Times{0, 1};
    } else {
      times = counted();
    }
    // As few as possible or as many: the same texts match.
    if (times) take("?");
    return times;
  }

  // `{2}`, `{2,}`, `{2,5}`; what looks like it and is not stands for itself.
  std::optional<Times> counted() {
    auto rest = rest_;
    if (rest.empty() || rest.front() != '{') return std::nullopt;
    rest.remove_prefix(1);
    const auto least = number(rest);
    if (!least) return std::nullopt;
    Times times{*least, *least};
    if (rest.starts_with(',')) {
      rest.remove_prefix(1);
      if (rest.starts_with('}')) {
        times.most = RegexTree::kNoEnd;
      } else {
        const auto most = number(rest);
        if (!most) return std::nullopt;
        times.most = *most;
      }
    }
    if (!rest.starts_with('}')) return std::nullopt;
    rest.remove_prefix(1);
    rest_ = rest;
    return times;
  }

  static std::optional<std::uint32_t> number(std::string_view& rest) {
    const auto digit = [&](std::size_t at) { return at < rest.size() && rest[at] >= '0' && rest[at] <= '9'; };
    if (!digit(0) || (rest[0] == '0' && digit(1))) return std::nullopt;
    std::uint32_t value = 0;
    for (; digit(0); rest.remove_prefix(1)) {
      if (value >= 100'000'000) return std::nullopt;
      value = value * 10 + static_cast<std::uint32_t>(rest[0] - '0');
    }
    return value;
  }

  Part part() {
    last_is_silent_ = false;
    if (quoted_) return literal();
    if (take("\\Q")) {
      quoted_ = true;
      return silent();
    }
    if (take("(")) return group();
    if (take("[")) return set();
    if (take(".")) return one_of(others(dot_takes_lines_ ? CodePoints{} : CodePoints{{'\n', '\n'}}));
    if (take("^") || take("\\A")) return add({Kind::begin});
    if (take("$") || take("\\z")) return add({Kind::end});
    if (rest_.size() > 1 && rest_.front() == '\\') {
      if (auto points = class_of_escape(rest_[1])) {
        rest_.remove_prefix(2);
        return one_of(named(std::move(*points)));
      }
    }
    return literal();
  }

  Part silent() {
    last_is_silent_ = true;
    return add({Kind::nothing});
  }
  Part one_of(CodePoints points) { return add({Kind::one_of, std::move(points)}); }

  Part literal() {
    const auto point = character();
    if (!point) return std::nullopt;
    const auto points = written({*point, *point});
    return points ? one_of(*points) : Part();
  }

  // After its `(`. What flags say inside of a group ends with it.
  Part group() {
    const auto fold = folds_;
    const auto dot = dot_takes_lines_;
    if (take("?P<") || take("?<")) {
      rest_.remove_prefix(std::min(rest_.find('>'), rest_.size() - 1) + 1);
    } else if (take("?")) {
      if (!flags()) return std::nullopt;
      if (take(")")) return silent();
      if (!take(":")) return refuse("`(?" + std::string(rest_.substr(0, 1)) + "`");
    }
    if (++depth_ > kDeepest) return refuse("groups within groups to this depth");
    const auto inside = alternatives();
    --depth_;
    if (!inside) return inside;
    if (!take(")")) return refuse("a group without an end");
    folds_ = fold;
    dot_takes_lines_ = dot;
    last_is_silent_ = false;
    return inside;
  }

  bool flags() {
    bool to = true;
    for (; !rest_.empty() && rest_.front() != ')' && rest_.front() != ':'; rest_.remove_prefix(1)) {
      switch (rest_.front()) {
        case '-':
          to = false;
          break;
        case 'i':
          folds_ = to;
          break;
        case 's':
          dot_takes_lines_ = to;
          break;
        case 'U':  // which match is preferred, of those there are
          break;
        case 'm':
          if (!to) break;
          [[fallthrough]];
        default:
          refuse("the flag `" + std::string(1, rest_.front()) + "`");
          return false;
      }
    }
    return true;
  }

  // After its `[`.
  Part set() {
    const bool negated = take("^");
    std::vector<CodePointRange> all;
    for (bool first = true; first || !rest_.starts_with(']'); first = false) {
      if (rest_.empty()) return refuse("a class without an end");
      const auto more = member();
      if (!more) return std::nullopt;
      all.insert(all.end(), more->begin(), more->end());
    }
    take("]");
    auto points = joined(std::move(all));
    return one_of(negated ? others(points) : std::move(points));
  }

  std::optional<CodePoints> member() {
    if (rest_.starts_with("[:")) {
      if (const auto end = rest_.find(":]", 2); end != std::string_view::npos) {
        auto name = rest_.substr(2, end - 2);
        rest_.remove_prefix(end + 2);
        const bool negated = name.starts_with('^');
        if (negated) name.remove_prefix(1);
        const auto points = class_of_name(name);
        if (!points) {
          refuse("the class `[:" + std::string(name) + ":]`");
          return std::nullopt;
        }
        return negated ? others(folded(*points)) : folded(*points);
      }
    }
    if (rest_.size() > 1 && rest_.front() == '\\') {
      if (auto points = class_of_escape(rest_[1])) {
        rest_.remove_prefix(2);
        return named(std::move(*points));
      }
    }
    const auto first = character();
    if (!first) return std::nullopt;
    if (rest_.size() < 2 || rest_[0] != '-' || rest_[1] == ']') return written({*first, *first});
    rest_.remove_prefix(1);
    const auto last = character();
    return last ? written({*first, *last}) : std::nullopt;
  }

  std::optional<char32_t> character() {
    if (!quoted_ && take("\\")) return escape();
    const auto point = take_code_point(rest_);
    if (!point) refuse("bytes that are not UTF-8");
    return point;
  }

  std::optional<char32_t> escape() {
    if (rest_.empty()) {
      refuse("`\\` at its end");
      return std::nullopt;
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view kLetters = "afnrtv";
    constexpr std::string_view kMeant = "\a\f\n\r\t\v";
    if (const auto at = kLetters.find(c); at != std::string_view::npos) return kMeant[at];
    if (c == 'x') return hexadecimal();
    if (c >= '0' && c <= '7') {
      const bool more = !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '7';
      if (c == '0' || more) return octal(static_cast<char32_t>(c - '0'));
    }
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const auto byte = static_cast<unsigned char>(c);
    if (!word && byte < 0x80) return byte;
    refuse("`\\" + std::string(1, byte < 0x80 ? c : '?') + "`");
    return std::nullopt;
  }

  std::optional<char32_t> octal(char32_t value) {
    for (int i = 0; i < 2 && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '7'; ++i) {
      value = value * 8 + static_cast<char32_t>(rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  std::optional<char32_t> hexadecimal() {
    const bool braces = take("{");
    char32_t value = 0;
    for (std::size_t digits = 0; braces ? !take("}") : digits < 2; ++digits) {
      const auto digit = rest_.empty() ? std::nullopt : hex_digit(rest_.front());
      if (!digit || value > kLastCodePoint) {
        refuse("an escape `\\x` of this form");
        return std::nullopt;
      }
      value = value * 16 + *digit;
      rest_.remove_prefix(1);
    }
    if (value <= kLastCodePoint) return value;
    refuse("a code point beyond the last");
    return std::nullopt;
  }

  static std::optional<char32_t> hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<char32_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<char32_t>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<char32_t>(c - 'A' + 10);
    return std::nullopt;
  }

  // A character or range as it is written. Case beyond ASCII is not known here.
  std::optional<CodePoints> written(CodePointRange range) {
    if (range.first > range.last) {
      refuse("a range that ends before it begins");
      return std::nullopt;
    }
    if (folds_ && range.last >= 0x80) {
      refuse("letters beyond ASCII under the flag `i`");
      return std::nullopt;
    }
    return folded({range});
  }
  CodePoints folded(CodePoints points) const { return folds_ ? without_case(points) : std::move(points); }
  // Of a class and its opposite, the one within ASCII is folded.
  CodePoints named(CodePoints points) const {
    const bool opposite = !points.empty() && points.back().last == kLastCodePoint;
    return opposite ? others(folded(others(points))) : folded(std::move(points));
  }

  std::string_view rest_;
  RegexTree tree_;
  std::string refused_;
  std::size_t depth_ = 0;
  bool quoted_ = false;           // between \Q and \E
  bool folds_ = false;            // the flag `i`
  bool dot_takes_lines_ = false;  // the flag `s`
  bool last_is_silent_ = false;   // the last part was flags or an empty quotation
};

}  // namespace

Result<RegexTree> read_regex(std::string_view pattern) { return Reader(pattern).read(); }

}  // namespace policy
