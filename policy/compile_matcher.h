#pragma once

#include <optional>
#include <string_view>

#include "policy/compile_scope.h"
#include "policy/rule.h"

namespace policy {

// Where a condition stands: decides what a match makes of the request, and with it how careful patterns are.
struct Ground {
  ActionSet actions;  // that the rule names
  Effect effect = Effect::deny;
  bool negated = false;  // inside `not` or `unless`, where a match has the opposite effect
  const Scope* scope = nullptr;

  // Does a match here make more possible?
  bool widens() const { return (effect == Effect::allow) != negated; }
  Ground inside_not() const {
    auto ground = *this;
    ground.negated = !negated;
    return ground;
  }
};

// What one entry asks about one fact: a bare value, a list, or a map with a way of matching. Nothing, with a
// report, when it is malformed or when an action of the rule does not have the fact.
std::optional<Condition> compile_fact(const FactInfo&, const yaml::Entry&, const Ground&,
                                      std::string_view what, const ReadInto&);

}  // namespace policy
