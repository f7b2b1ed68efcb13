#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "policy/enforcer.h"

namespace enforcers {

// Web requests of sandboxes, which nothing can carry out yet: what the rules allow is refused with that
// reason. Posture: closed.
class WebGate final : public policy::Enforcer {
 public:
  std::string_view name() const override { return "web_gate"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs&) noexcept override;
};

}  // namespace enforcers
