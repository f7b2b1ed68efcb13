#pragma once

#include <utility>

#include "policy/request.h"

namespace enforcers {

// A question as a client of uid 1000 asks it.
inline policy::Request question(policy::Action what,
                                std::optional<policy::SandboxFacts> sandbox = std::nullopt) {
  policy::Subject who;
  who.principal = {"uid:1000"};
  who.transport = policy::Transport::stdio;
  return {std::move(who), std::move(sandbox), std::move(what), {policy::CallId::random(), "1", std::nullopt}};
}

}  // namespace enforcers
