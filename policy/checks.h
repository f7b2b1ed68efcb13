#pragma once

#include <vector>

#include "policy/rule_program.h"

// What is most likely not meant in a policy that can be used. Every finding is certainly so; where that
// cannot be found out within bounds, nothing is said.
//
//   P0301  a rule that can never match
//   P0302  a rule that never decides, for others refuse (or ask about) whatever it is about
//   P0303  a rule that changes nothing, for others of its tier say the same of whatever it is about
//   P0304  `any` in a rule that allows
//   P0305  a rule that never decides, for a tier above allows nothing of what it allows
//   P0306  a refusal that rests on the text of a command alone and says nothing to whoever is refused
namespace policy {

std::vector<Diagnostic> check_rules(const RuleProgram&);

// Adds what check_rules() finds of the rules that were compiled, and the loose ends.
void add_warnings(Compiled&, const RuleProgram&);

// Compiles, and when that leaves a program adds all warnings.
Compiled compile_and_check(std::span<const Source> sources, const Facts& settings = {});

}  // namespace policy
