#pragma once

#include <span>
#include <string_view>

#include "policy/compile_matcher.h"

namespace policy {

// The keys that ask something: names of facts, `for`, `sandbox`, `when`, `not`, `any`, `all`.
std::span<const std::string_view> condition_keys();
// The fact that a key asks about: its own name, or in rules of `web:` the plural of it. Null: another key.
const FactInfo* fact_of_key(std::string_view key);

// Everything the entries of `map` ask, joined; entries whose key is no condition key are left alone. Reports
// what is wrong and leaves it out.
Condition compile_conditions(const yaml::Node& map, const Ground&, std::string_view what, const ReadInto&);

}  // namespace policy
