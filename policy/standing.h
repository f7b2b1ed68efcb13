#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "policy/grant.h"

namespace policy {

// A permission whose effect goes on after the call that was granted: a background command, later a tunnel. As
// long as one of these lives, each program that comes into force judges its request again.
class [[nodiscard]] Standing final {
 public:
  // Why the program now in force refuses it. Called on the deciding thread, once at most.
  using Withdrawn = std::function<void(const Denial&)>;

  Standing() = default;
  Standing(Standing&&) noexcept = default;
  Standing& operator=(Standing&& other) noexcept {
    end();
    entries_ = std::move(other.entries_);
    key_ = other.key_;
    return *this;
  }
  ~Standing() { end(); }

 private:
  friend class Engine;
  struct Entry {
    Request request;
    RuleRef rule;           // that let it pass
    std::string people;     // who approved it; empty: nobody had to
    std::uint64_t seq = 0;  // of its decision's record
    Withdrawn withdrawn;
  };
  using Entries = std::map<std::uint64_t, Entry>;
  Standing(const std::shared_ptr<Entries>& entries, std::uint64_t key) : entries_(entries), key_(key) {}
  void end() {
    if (const auto entries = entries_.lock()) entries->erase(key_);
    entries_.reset();
  }

  std::weak_ptr<Entries> entries_;
  std::uint64_t key_ = 0;
};

}  // namespace policy
