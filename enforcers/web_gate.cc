#include "enforcers/web_gate.h"

#include <variant>

namespace enforcers {

std::optional<policy::Objection> WebGate::check(const policy::Request& request,
                                                std::span<const policy::Limit>, policy::Proofs&) noexcept {
  const bool web = std::holds_alternative<policy::Fetch>(request.what) ||
                   std::holds_alternative<policy::Tunnel>(request.what);
  if (!web) return std::nullopt;
  return policy::Objection{.code = "web.unavailable",
                           .reason = "there is no web proxy yet, so no web request is carried out",
                           .hint = "bring what is needed in with copy_in"};
}

}  // namespace enforcers
