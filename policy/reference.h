#pragma once

#include <string>

#include "policy/json.h"

// What rules can be about, rendered from the tables that the compiler uses.
namespace policy {

// Actions with their facts; facts with their kind, choices and ways of matching; settings, effects with what
// they may carry, and limits.
Json facts_json();
std::string facts_text();
std::string facts_markdown();

// The compiled-in rules in words, found out by asking them about every action, vmrun command and caller.
std::string builtin_text();

}  // namespace policy
