#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/anatomy.h"
#include "policy/json.h"

// Calls that a change of policy makes possible, found by trying.
namespace policy {

struct Witness {
  std::string statement;  // one line that can stand under `tests:` of the new policy
  Effect was = Effect::deny, is = Effect::allow;
  RuleRef was_by, is_by;
  // The effect is the same and a number is lowered less; what, as `timeout`.
  std::string lowered_less;
  // It is let through as before, and a secret goes with it or a label is not put that was.
  std::string beside;
  // It says `as:` a subject that only the old policy names, so it cannot be pasted as it is.
  bool subject_gone = false;
};

struct WitnessSearch {
  std::vector<Witness> found;  // one for each pair of rules and action, the shortest that was met
  std::size_t tried = 0;
  bool complete = true;  // every combination of the values that either policy names was tried
};

// Candidates are made of the tests, examples and matchers of both policies: the ends of ranges and what lies
// beyond, an instance of each pattern, each word, each subject, each setting. Finding none proves nothing.
WitnessSearch find_widenings(const Anatomy& before, const Anatomy& after);

}  // namespace policy
