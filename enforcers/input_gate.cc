#include "enforcers/input_gate.h"

#include <variant>

namespace enforcers {

std::optional<policy::Objection> InputGate::check(const policy::Request& request,
                                                  std::span<const policy::Limit>, policy::Proofs&) noexcept {
  const bool input = std::holds_alternative<policy::Click>(request.what) ||
                     std::holds_alternative<policy::TypeText>(request.what) ||
                     std::holds_alternative<policy::PressKey>(request.what);
  if (!input) return std::nullopt;
  if (setting_ == RemoteInput::off) {
    return policy::Objection{.code = "input.off",
                             .reason = "clicking, typing and key presses are switched off",
                             .hint =
                                 "run a command instead, or ask the person who runs the gateway to set "
                                 "`remote_input: on`"};
  }
  return policy::Objection{.code = "input.unavailable",
                           .reason = "clicking, typing and key presses are not available with these machines",
                           .hint = "run a command instead"};
}

}  // namespace enforcers
