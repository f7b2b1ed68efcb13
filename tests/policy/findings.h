#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/checks.h"

// What checks say of small policies.
namespace policy::findings {

inline const std::string kNames =
    "sets: { secret: { paths: [\"**/.env\", \"**/*.pem\"] } }\n"
    "subjects: { alice: { os_user: alice }, bob: { os_user: bob }, both: { os_user: [alice, bob] }, cli: { "
    "transport: cli }, root: { uid: 0 }, cliroot: { uid: 0, transport: cli } }\n";

inline std::string head(const std::string& tier, const std::string& stance = "deny") {
  return "sallyport: policy/v1\ntier: " + tier + "\nname: " + tier + "\ndefault: " + stance + "\n";
}

// What is said of the rules.
inline std::vector<Diagnostic> found_in(const std::vector<Source>& sources) {
  auto compiled = compile(sources);
  EXPECT_TRUE(compiled.program) << compiled.error().message;
  const auto* program = dynamic_cast<const RuleProgram*>(compiled.program.get());
  if (program != nullptr) join(compiled.diagnostics, check_rules(*program));
  return compiled.diagnostics;
}

// The rule that a message begins with.
inline std::string rule_of(const Diagnostic& found) {
  const auto from = found.message.find('`') + 1;
  return found.message.substr(from, found.message.find('`', from) - from);
}

// `P0302 r`
inline std::vector<std::string> told(const std::vector<Diagnostic>& found) {
  std::vector<std::string> all;
  for (const auto& one : found) all.push_back(one.code + " " + rule_of(one));
  return all;
}

inline std::vector<Source> user_policy(const std::string& rules) {
  return {{"p.yaml", head("user") + kNames + "actions: { " + rules + " }\n", {}}};
}

using Codes = std::vector<std::string>;
struct Row {
  const char* rules;
  Codes codes;
};

inline void expect(const std::vector<Row>& table) {
  for (const auto& row : table) EXPECT_EQ(told(found_in(user_policy(row.rules))), row.codes) << row.rules;
}

}  // namespace policy::findings
