#pragma once

#include "policy/json.h"

namespace policy {

// A JSON Schema (draft 2020-12) of policy files for editors, made from the tables that the compiler uses. It
// takes every file that the compiler takes; of what the compiler refuses it finds wrong keys, words, actions,
// kinds of value and units, and leaves names, paths and the sense of a rule to `policy check`.
Json policy_schema();

}  // namespace policy
