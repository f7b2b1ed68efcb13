#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The keys that ask something: names of facts, `for`, `sandbox`, `when`, `not`, `any`, `all`.
std::span<const std::string_view> condition_keys();

// Everything the entries of `map` ask, joined; entries whose key is no condition key are left alone. Reports
// what is wrong and leaves it out.
Condition compile_conditions(const yaml::Node& map, const Ground&, std::string_view what, const ReadInto&);

}  // namespace policy
