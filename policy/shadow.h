#pragma once

#include "policy/decision.h"
#include "policy/facts.h"

namespace policy {

// A rule of a program that is judged like the others and never enforced.
struct ShadowRule {
  RuleRef ref;
  Effect effect = Effect::deny;
  ActionSet actions;
};

}  // namespace policy
