#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "policy/enforcer.h"

namespace enforcers {

enum class RemoteInput { off, on };

// Clicks, typing and key presses are refused unless the person who runs the gateway switched them on.
// Posture: a second lock behind policy; says no to everything while it is off.
class InputGate final : public policy::Enforcer {
 public:
  explicit InputGate(RemoteInput setting) : setting_(setting) {}
  std::string_view name() const override { return "input_gate"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs&) noexcept override;

 private:
  RemoteInput setting_;
};

}  // namespace enforcers
