#pragma once

#include "policy/compile_rules.h"

namespace policy {

// Runs `tests:` of one file: whole questions to the whole program, each with the answer it must get. Reports
// what is malformed and what fails.
void run_tests(const yaml::Node& section, const Scope&, const RuleProgram&, const ReadInto&);

// Runs `examples:` of one rule: what it must speak on, and what it must let pass.
void run_examples(const ParsedRule&, const Scope&, const ReadInto&);

}  // namespace policy
