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

// `P0307 s`, or the whole message of what is not about one name.
std::vector<std::string> loose_ends(const std::vector<std::string>& bodies) {
  std::vector<Source> sources;
  for (const auto& body : bodies)
    sources.push_back({"p" + std::to_string(sources.size()) + ".yaml", head("user") + body, {}});
  const auto compiled = compile_and_check(sources);
  EXPECT_TRUE(compiled.program) << compiled.error().message;
  EXPECT_TRUE(compile(sources).diagnostics.empty()) << "nothing of it is told at load";
  std::vector<std::string> all;
  for (const auto& one : compiled.diagnostics) {
    EXPECT_EQ(one.severity, Severity::warning);
    const auto from = one.message.find('`') + 1;
    all.push_back(
        one.where() + " " + one.code + " " +
        (one.code == "P0309" ? one.message : one.message.substr(from, one.message.find('`', from) - from)));
  }
  return all;
}

TEST(PolicyChecks, FindSetsThatNoRuleNames) {
  const Codes good{}, unused{"p0.yaml:5:9 P0307 s"};
  const std::string set = "sets: { s: { paths: [a] } }\n", words = "sets: { s: { words: [a] } }\n";
  EXPECT_EQ(loose_ends({set}), unused);
  EXPECT_EQ(loose_ends({set + "actions: { r: { allow: copy_in } }\n"}), unused);
  EXPECT_EQ(loose_ends({set + "actions: { r: { allow: copy_in, host_path: \"transfer:s\" } }\n"}), unused);
  EXPECT_EQ(loose_ends({set + "actions: { r: { allow: copy_in, host_path: \"transfer:$s\" } }\n"}), good);
  EXPECT_EQ(loose_ends({set + "actions: { r: { deny: copy_in, not: { host_path: \"transfer:$s\" } } }\n"}),
            good);
  EXPECT_EQ(loose_ends({words + "actions: { r: { deny: key, unless: { keys: $s } } }\n"}), good);
  EXPECT_EQ(loose_ends({set, "actions: { r: { allow: copy_in, host_path: \"transfer:$s\" } }\n"}), good)
      << "the files of a tier share names";
  EXPECT_EQ(loose_ends({set + "actions: { r: { deny: copy_in } }\nwaivers: { w: { lift: r, host_path: "
                              "\"transfer:$s\", until: 2199-01-01, reason: x } }\n"}),
            good);
}

TEST(PolicyChecks, FindSubjectsThatNothingNames) {
  const Codes good{}, unused{"p0.yaml:5:13 P0308 a"};
  const std::string who = "subjects: { a: { uid: 1 } }\n";
  EXPECT_EQ(loose_ends({who}), unused);
  EXPECT_EQ(loose_ends({who + "actions: { r: { allow: list } }\n"}), unused);
  EXPECT_EQ(loose_ends({who + "actions: { a: { ask: list } }\n"}), unused) << "a rule of the same name";
  EXPECT_EQ(loose_ends({who + "actions: { r: { allow: list, for: a } }\n"}), good);
  EXPECT_EQ(loose_ends({who + "actions: { r: { allow: list, any: [ { for: [a] } ] } }\n"}), good);
  EXPECT_EQ(loose_ends({who + "actions: { r: { ask: list, who: a } }\n"}), good);
  EXPECT_EQ(loose_ends({who + "actions: { r: { deny: list, unless: { for: a } } }\n"}), good);
  EXPECT_EQ(loose_ends(
                {who + "actions: { r: { allow: list } }\ntests: [ { call: list, as: a, expect: allow } ]\n"}),
            good);
  EXPECT_EQ(loose_ends({who + "actions: { r: { allow: list, examples: { allow: [ { as: a } ] } } }\n"}),
            good);
  EXPECT_EQ(loose_ends({who, "actions: { r: { allow: list, for: a } }\n"}), good);
}

// What another rule asks inside of a tunnel it can ask only when some rule opens the tunnel.
TEST(PolicyChecks, LeaveARuleAloneThatOpensATunnelForOthers) {
  const std::vector<Source> sources{
      {"p.yaml",
       head("user") +
           "web:\n  a: { allow: GET, hosts: x.org, tls: inspect }\n  d: { deny: GET, hosts: x.org }\n"
           "  b: { ask: POST, hosts: x.org, tls: inspect }\n",
       {}}};
  for (const auto& one : compile_and_check(sources).diagnostics) ADD_FAILURE() << one.format();
}

TEST(PolicyChecks, FindLabelsThatAreMisspelt) {
  const Codes good{}, slip{"p0.yaml:5:37 P0310 privat"};
  const auto asks = [](const std::string& label) {
    return "actions: { r: { deny: run, sandbox: " + label + " } }\n";
  };
  const std::string puts = "web: { w: { allow: any, hosts: any, label: private } }\n";
  EXPECT_EQ(loose_ends({asks("privat") + puts}), slip);
  EXPECT_EQ(loose_ends({asks("privat"), puts}), slip) << "the files of a tier share labels";
  EXPECT_EQ(loose_ends({asks("private") + puts}), good);
  EXPECT_EQ(loose_ends({asks("other") + puts}), good) << "another tier may put it";
  EXPECT_EQ(loose_ends({asks("privat")}), good);
}

TEST(PolicyChecks, FindRulesThatNoTestIsAbout) {
  const Codes good{};
  const std::string two = "actions: { r: { allow: list }, s: { allow: create } }\n", test = "tests:\n  - ";
  EXPECT_EQ(loose_ends({two}), good) << "whoever writes no tests has none missing";
  EXPECT_EQ(loose_ends({two + test + "{ call: list, expect: allow }\n"}),
            Codes{"p0.yaml:5:32 P0309 no test or example is about 1 of the 2 rules of this file: `s`"});
  EXPECT_EQ(
      loose_ends({two + test + "{ call: list, expect: allow }\n  - { call: create, expect: allow s }\n"}),
      good);
  EXPECT_EQ(loose_ends({"actions: { r: { allow: list }, s: { deny: create, examples: { deny: [nat] } } }\n" +
                        test + "{ call: list, expect: allow }\n"}),
            good);
  EXPECT_EQ(loose_ends({"actions: { r: { allow: list } }\nvmrun: { v: { deny: captureScreen } }\n" + test +
                        "{ call: list, expect: allow }\n"}),
            Codes{"p0.yaml:6:10 P0309 no test or example is about 1 of the 2 rules of this file: `v`"});
  EXPECT_EQ(loose_ends({"actions: { r: { allow: list }, s: { deny: create, shadow: true } }\n" + test +
                        "{ call: list, expect: allow }\n  - { call: create, expect: deny default }\n"}),
            good)
      << "a shadow rule speaks as well";
  std::string many = "actions:\n";
  for (int i = 0; i < 8; ++i)
    many += "  r" + std::to_string(i) + ": { allow: list, for: a" + std::to_string(i) + " }\n";
  many += "subjects:\n";
  for (int i = 0; i < 8; ++i) many += "  a" + std::to_string(i) + ": { uid: " + std::to_string(i) + " }\n";
  EXPECT_EQ(
      loose_ends({many, test + "{ call: list, as: a3, expect: allow r3 }\n"}),
      Codes{"p0.yaml:6:3 P0309 no test or example is about 7 of the 8 rules of this file: `r0`, `r1`, `r2`, "
            "`r4`, `r5` and 2 more"});
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
