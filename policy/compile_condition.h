#pragma once

#include <span>
#include <string_view>

#include "policy/compile_matcher.h"

namespace policy {

// The keys that ask something: names of facts, `for`, `sandbox`, `when`, `not`, `any`, `all`.
std::span<const std::string_view> condition_keys();

// Everything the entries of `map` ask, joined; entries whose key is no condition key are left alone. Reports
// what is wrong and leaves it out.
Condition compile_conditions(const yaml::Node& map, const Ground&, std::string_view what, const ReadInto&);

}  // namespace policy
