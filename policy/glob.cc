#include "policy/glob.h"

namespace policy {
namespace {

constexpr std::string_view kAnyDepth = "**";

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The offset of the character after the one at `at`.
std::size_t next(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && continues(text[at])) ++at;
  return at;
}

bool component_matches(std::string_view pattern, std::string_view name, Dotfiles dotfiles) {
  if (dotfiles == Dotfiles::only_if_written && name.starts_with('.') && !pattern.starts_with('.'))
    return false;
  return text_matches(pattern, name);
}

bool covers_any_depth(std::string_view name, Dotfiles dotfiles) {
  return dotfiles == Dotfiles::included || !name.starts_with('.');
}

tl::unexpected<Error> bad(std::string message) { return fail("policy.pattern", std::move(message)); }

}  // namespace

// Only the last `*` ever has to take more: what an earlier one could take instead, the last one can as well.
bool text_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t = next(text, t);
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      resume = next(text, resume);
      t = resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<PathPattern> PathPattern::parse(std::string_view text) {
  if (text.empty()) return bad("a pattern may not be empty");
  if (text.size() > kMaxLength) {
    return bad("a pattern may not be longer than " + std::to_string(kMaxLength) + " bytes");
  }
  PathPattern pattern;
  pattern.text_ = text;
  while (true) {
    const auto slash = text.find('/');
    const auto component = text.substr(0, slash);
    if (component.empty()) {
      return bad("`" + pattern.text_ +
                 "` has an empty component; `dir` is the folder, `dir/**` what is below it");
    }
    if (component == "." || component == "..") return bad("`" + pattern.text_ + "` may not hold `.` or `..`");
    if (component.find_first_of("\\[]{}!") != std::string_view::npos) {
      return bad("`" + pattern.text_ +
                 "` holds a character that patterns do not use; there are `*`, `?` and `**`");
    }
    if (component != kAnyDepth && component.find(kAnyDepth) != std::string_view::npos) {
      return bad("in `" + pattern.text_ + "`, `**` must stand alone between slashes");
    }
    const bool repeated =
        component == kAnyDepth && !pattern.components_.empty() && pattern.components_.back() == kAnyDepth;
    if (!repeated) pattern.components_.emplace_back(component);
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  // What lies below, not the folder itself: at least one component.
  if (pattern.components_.size() > 1 && pattern.components_.back() == kAnyDepth) {
    pattern.components_.insert(pattern.components_.end() - 1, "*");
  }
  return pattern;
}

// As text_matches(), with components for characters. A component that the last `**` may not cover cannot be
// covered by starting it later either: whatever written component stands before it would have to cover it
// again.
bool PathPattern::matches(std::span<const std::string> path, Dotfiles dotfiles) const {
  std::size_t p = 0, t = 0;
  bool starred = false;
  std::size_t star = 0, resume = 0;
  while (t < path.size()) {
    if (p < components_.size() && components_[p] == kAnyDepth) {
      starred = true;
      star = p++;
      resume = t;
    } else if (p < components_.size() && component_matches(components_[p], path[t], dotfiles)) {
      ++p;
      ++t;
    } else if (starred && covers_any_depth(path[resume], dotfiles)) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < components_.size() && components_[p] == kAnyDepth) ++p;
  return p == components_.size();
}

}  // namespace policy
