#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "policy/tri.h"

namespace re2 {
class RE2;
}

namespace policy {

// A regular expression of RE2, which takes time in proportion to the text. A small program over a short text,
// so that no pattern makes a decision slow.
class Regex final {
 public:
  static constexpr std::size_t kMaxPattern = 512;    // bytes
  static constexpr int kMaxProgram = 1000;           // RE2's instructions
  static constexpr std::size_t kMaxText = 4 * 1024;  // bytes of text that is looked at

  enum class Where { whole, anywhere };
  // Code: policy.pattern.
  static Result<Regex> parse(std::string_view pattern, Where);

  // `unknown` for a text that is too long or no UTF-8, and when RE2 ran out of memory.
  Tri found_in(std::string_view text) const;
  const std::string& text() const { return text_; }
  Where where() const { return where_; }

 private:
  Regex(std::string text, Where where, std::shared_ptr<const re2::RE2> program)
      : text_(std::move(text)), where_(where), program_(std::move(program)) {}

  std::string text_;
  Where where_;
  std::shared_ptr<const re2::RE2> program_;
};

}  // namespace policy
