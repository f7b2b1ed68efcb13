#pragma once

#include <string>
#include <vector>

#include "policy/compile_rules.h"

namespace policy {

// What became of one test or example that could be asked.
struct Checked {
  enum class Kind { test, example } kind = Kind::test;
  std::string name;  // its title, or as it is written
  std::string file;
  Position at;
  std::string failure;         // empty: it passed
  std::vector<RuleRef> spoke;  // the rules that had their say in it
};

// Whether a finding is one of a test or example that was asked and failed.
bool is_failed_test(const Diagnostic&);

// Runs `tests:` of one file: whole questions to the whole program, each with the answer it must get. Reports
// what is malformed and what fails.
std::vector<Checked> run_tests(const yaml::Node& section, const Scope&, const RuleProgram&, const ReadInto&);

// Runs `examples:` of one rule: what it must speak on, and what it must let pass.
std::vector<Checked> run_examples(const ParsedRule&, const Scope&, const ReadInto&);

}  // namespace policy
