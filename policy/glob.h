#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace policy {

// `*` stands for any run of characters, `?` for one, everything else for itself; the whole text must match.
// Takes time in proportion to the product of the two lengths at worst.
bool text_matches(std::string_view pattern, std::string_view text);

// Whether `*`, `?` and `**` also stand for names that begin with a dot. A rule that refuses must not miss
// `.env`; a rule that allows must not mean it by accident.
enum class Dotfiles { included, only_if_written };

// A pattern for paths: components joined with `/`, in each `*` (any run) and `?` (one character), neither of
// which crosses a `/`; `**` as a whole component stands for any number of components. `a/**` is what lies
// below `a`, not `a` itself; `**` alone is everything.
class PathPattern final {
 public:
  static constexpr std::size_t kMaxLength = 1024;

  // `text` without any root: neither `transfer:` nor a leading `/`. Code: policy.pattern.
  static Result<PathPattern> parse(std::string_view text);
  // The path without components and no other.
  static PathPattern root() { return {}; }

  bool matches(std::span<const std::string> path, Dotfiles dotfiles) const;
  const std::string& text() const { return text_; }
  // As matches() takes them: no two `**` in a row, and `a/**` as `a`, `*`, `**`.
  std::span<const std::string> components() const { return components_; }
  bool operator==(const PathPattern&) const = default;

 private:
  std::string text_;
  std::vector<std::string> components_;
};

}  // namespace policy
