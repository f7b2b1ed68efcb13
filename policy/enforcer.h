#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/decision.h"
#include "policy/limit.h"
#include "policy/request.h"

namespace policy {

// Something a check found and the effect must use: an open handle, a reservation. It lives as long as the
// grant.
class Proof {
 public:
  virtual ~Proof() = default;
};

// The proofs of one decision. One of each type at most; a second one of a type replaces the first.
class Proofs final {
 public:
  template <class P>
  void put(std::unique_ptr<P> proof) {
    for (auto& held : held_) {
      if (dynamic_cast<P*>(held.get()) != nullptr) {
        held = std::move(proof);
        return;
      }
    }
    held_.push_back(std::move(proof));
  }
  // Null when no check left one.
  template <class P>
  P* find() const {
    for (const auto& held : held_) {
      if (auto* found = dynamic_cast<P*>(held.get())) return found;
    }
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<Proof>> held_;
};

// What an enforcer says: nothing, or no. It can never say yes.
struct Objection {
  std::string code;                  // `path.link`, `limit.sandboxes`, ...
  std::string reason;                // what was refused and why
  std::string hint;                  // what to do instead
  std::optional<RuleRef> rule = {};  // set when a rule of the policy (a limit) is behind it
};

// Checks a question against reality after policy allowed it. Runs on the deciding thread and must not block
// on anything slower than a path look-up. Whatever it cannot find out is an objection.
class Enforcer {
 public:
  virtual ~Enforcer() = default;
  virtual std::string_view name() const = 0;
  virtual std::optional<Objection> check(const Request&, std::span<const Limit>, Proofs&) noexcept = 0;
};

}  // namespace policy
