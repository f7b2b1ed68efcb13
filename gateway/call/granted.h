#pragma once

#include <utility>
#include <variant>

#include "policy/grant.h"

namespace gateway {

// The grant of what the owner carries out itself, or why there is none. Nobody can be asked about such
// things: a rule that asks refuses them.
template <class A>
policy::Result<policy::Grant<A>> granted(policy::Verdict<A> verdict) {
  if (auto* denial = std::get_if<policy::Denial>(&verdict)) {
    return policy::fail(denial->code, denial->reason + " (rule " + denial->rule.id + ")" +
                                          (denial->hint.empty() ? "" : "; " + denial->hint));
  }
  if (auto* grant = std::get_if<policy::Grant<A>>(&verdict)) return std::move(*grant);
  return policy::fail("ask.no_channel",
                      "policy wants a person to approve this, and this cannot be asked about");
}

}  // namespace gateway
