#pragma once

#include <span>

#include "policy/compile_rules.h"

namespace policy {

// The section `waivers:` of one file, when all rules of its tier are there: each waiver goes to the rule it
// lifts. `others` are the rules of other tiers, to tell a wrong tier from a wrong name.
void compile_waivers(const yaml::Node& file, const Scope&, Places&, std::span<Rule* const> rules,
                     std::span<const Rule* const> others, const ReadInto&);

}  // namespace policy
