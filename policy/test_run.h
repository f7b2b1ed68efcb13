#pragma once

#include <string>
#include <vector>

#include "policy/anatomy.h"
#include "policy/json.h"
#include "policy/self_check.h"

// What `policy test` tells: every test and example with its outcome, and the rules that none of them is
// about.
namespace policy {

struct TestRun {
  std::vector<Checked> checks;       // by file and place
  std::vector<RuleRef> rules;        // of actions and vmrun, by tier and place
  std::vector<RuleRef> not_covered;  // those of them that spoke in no test and have no example

  std::size_t failures() const;
};

TestRun run_all_tests(const Anatomy&);

// With what was found while compiling and checking as `findings`.
Json to_json(const TestRun&, const Compiled&);
std::string to_text(const TestRun&);

}  // namespace policy
