#include "vmware/standin/copy_greeting.h"

namespace standin {
namespace {

constexpr std::size_t kMaxWords = 64;

}  // namespace

std::optional<CopyGreeting::Found> CopyGreeting::feed(std::string_view piece) {
  kept_ += piece;
  const std::size_t at = kept_.find(mark_);
  if (at == std::string::npos) {
    if (kept_.size() >= mark_.size()) kept_.erase(0, kept_.size() - mark_.size() + 1);
    return std::nullopt;
  }
  kept_.erase(0, at);
  const std::size_t end = kept_.find('\n', mark_.size());
  if (end == std::string::npos) {
    // No line of ours is that long.
    if (kept_.size() > mark_.size() + kMaxWords) kept_.erase(0, mark_.size());
    return std::nullopt;
  }
  return Found{kept_.substr(mark_.size(), end - mark_.size()), kept_.substr(end + 1)};
}

}  // namespace standin
