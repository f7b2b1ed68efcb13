// What `policy check` warns of: each kind on small policies, beside policies that differ from them in little
// and are as they should be.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/checks.h"
#include "tests/policy/findings.h"

namespace policy {
namespace {

using namespace findings;

TEST(PolicyChecks, OfATierThatInheritsNothingIsExpected) {
  const auto found =
      found_in({{"a.yaml", head("user") + "actions: { a: { allow: create } }\n", {}},
                {"b.yaml", head("project", "inherit") + "actions: { b: { deny: list } }\n", {}},
                {"c.yaml", head("session") + "actions: { c: { allow: create } }\n", {}}});
  EXPECT_EQ(told(found), Codes{});
}

TEST(PolicyChecks, FindsAnyInAnAllowRule) {
  const Codes any{"P0304 r"}, good{};
  expect({
      {"r: { allow: any }", any},
      {"r: { allow: any, for: alice }", any},
      {"r: { allow: [any, list] }", any},
      {"r: { ask: any }", good},
      {"r: { deny: any }", good},
      {"r: { allow: [create, list, run, start, check, stop, destroy] }", good},
  });
}

TEST(PolicyChecks, FindsRefusalsThatRestOnTheTextOfACommand) {
  const Codes text{"P0306 r"}, good{};
  expect({
      {"r: { deny: run, command: { glob: \"*sudo*\" } }", text},
      {"r: { deny: [run, start], command: reboot }", text},
      {"r: { deny: run, command: { not: { glob: \"make *\" } } }", text},
      {"r: { deny: run, any: [ { command: { glob: \"*a*\" } }, { command: { glob: \"*b*\" } } ] }", text},
      {"r: { deny: run, command: { glob: \"*sudo*\" }, why: there is no sudo here }", good},
      {"r: { deny: run, command: { glob: \"*sudo*\" }, hint: leave sudo out }", good},
      {"r: { deny: run, command: { glob: \"*sudo*\" }, for: alice }", good},
      {"r: { ask: run, command: { glob: \"*sudo*\" } }", good},
      {"r: { deny: run }", good},
      {"r: { deny: run, timeout: { min: 1h } }", good},
  });
}

// Where, what, by which rule, and a call that shows it.
TEST(PolicyChecks, SayWhereAndGiveAnExample) {
  const auto text = [](const std::string& rules) {
    std::string all;
    for (const auto& found : found_in({{"p.yaml", head("user") + kNames + "actions:\n" + rules, {}}})) {
      EXPECT_EQ(found.severity, Severity::warning);
      all += found.format() + "\n";
    }
    return all;
  };
  EXPECT_EQ(
      text("  web: { allow: copy_in, host_path: \"transfer:web/.env.*\" }\n"
           "  no: { deny: copy_in, host_path: \"transfer:**/.env.*\" }\n"),
      "p.yaml:8:3: warning[P0302]: rule `web` never takes effect: all that it allows is refused by rule `no` "
      "(p.yaml:9:3), for example copy_in host_path=transfer:web/.env.x\n");
  EXPECT_EQ(
      text("  a: { allow: create, cpus: { min: 4 }, not: { cpus: { min: 3 } } }\n"
           "  b: { deny: create, network: web, unless: { not: { network: nat } } }\n"),
      "p.yaml:8:3: warning[P0301]: rule `a` can never match: no value of `cpus` meets all that it asks\n"
      "p.yaml:9:3: warning[P0301]: rule `b` matches no call: its `unless` holds whenever the rest does; it "
      "speaks only where that is not known\n");
  EXPECT_EQ(text("  a: { allow: create, cpus: { max: 4 } }\n  b: { allow: create, cpus: { max: 2 } }\n"),
            "p.yaml:9:3: warning[P0303]: rule `b` changes nothing: rule `a` (p.yaml:8:3) says the same of "
            "all that it "
            "is about, for example create cpus=2\n");
  EXPECT_EQ(
      text("  a: { allow: list, for: alice }\n  b: { deny: list, for: both }\n"),
      "p.yaml:8:3: warning[P0302]: rule `a` never takes effect: all that it allows is refused by rule `b` "
      "(p.yaml:9:3), for example list os_user=alice\n");
}

// What a waiver lifts is let through on some days, and a shadow rule refuses nothing.
TEST(PolicyChecks, LetNoLiftedOrShadowRuleOverruleAnother) {
  const std::string take = "actions:\n  take: { allow: copy_in, host_path: \"transfer:web/a\" }\n";
  const std::string no = "  never: { deny: copy_in, host_path: \"transfer:web/**\", why: x";
  const auto codes = [](const std::string& text) {
    return told(found_in({{"p.yaml", head("user") + kNames + text, {}}}));
  };
  EXPECT_EQ(codes(take + no + " }\n"), std::vector<std::string>{"P0302 take"});
  EXPECT_EQ(codes(take + no + ", shadow: true }\n"), std::vector<std::string>{});
  EXPECT_EQ(
      codes(take + no + " }\nwaivers:\n  w: { lift: never, for: alice, until: 2199-01-01, reason: x }\n"),
      std::vector<std::string>{});
}

TEST(PolicyChecks, SayNothingOfAPolicyThatCannotBeUsed) {
  const auto compiled = compile_and_check(std::vector<Source>{
      {"p.yaml", head("user") + "actions: { r: { allow: any }, e: { allow: creat } }\n", {}}});
  ASSERT_EQ(compiled.diagnostics.size(), 1U);
  EXPECT_EQ(compiled.diagnostics.front().code, "P0110");
}

// However many rules are about the same, and however much there is to compare, it is over before long.
TEST(PolicyChecks, AreOverBeforeLong) {
  std::string same = "actions:\n", patterns = "actions:\n";
  for (int i = 0; i < 400; ++i) {
    const auto number = std::to_string(i);
    same += "  r" + number + ": { allow: list }\n";
    patterns += "  r" + number + ": { deny: copy_in, host_path: \"transfer:**/*a" + number + "*b*/**\" }\n";
  }
  for (const auto& rules : {same, patterns}) {
    for (const auto& code : told(found_in({{"p.yaml", head("user") + rules, {}}}))) {
      EXPECT_EQ(code.substr(0, 5), "P0303");
    }
  }
}

}  // namespace
}  // namespace policy
