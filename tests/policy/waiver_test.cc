// Exceptions with an end: what a waiver lifts, for how long, and what it never does.
#include "policy/waiver.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policy/engine.h"
#include "policy/explain.h"
#include "policy/rule_program.h"
#include "policy/units.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"
#include "tests/policy/dice.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

const std::string kHead =
    "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n"
    "subjects: { alice: { os_user: alice }, chatty: { client: x } }\n"
    "actions:\n"
    "  all: { allow: any }\n"
    "  no-secrets: { deny: copy_in, host_path: \"transfer:**/.env\" }\n"
    "  ask-nat: { ask: create, network: nat }\n";
const std::string kWaived =
    "waivers:\n  old: { lift: no-secrets, for: alice, host_path: \"transfer:fixtures/**/.env\", until: "
    "2027-03-01, "
    "reason: fake keys }\n";

Compiled compiled(const std::string& more, const std::string& lower = {}) {
  std::vector<Source> sources{{"p.yaml", kHead + more, {}}};
  if (!lower.empty())
    sources.push_back(
        {"q.yaml", "sallyport: policy/v1\ntier: project\nname: q\ndefault: inherit\n" + lower, {}});
  return compile(sources);
}
std::chrono::sys_days day(std::string_view text) { return *parse_date(text); }

struct Wrong {
  const char* name;
  const char* waiver;
  const char* code;
  int column;
  const char* says;
};
class WaiverMistake : public testing::TestWithParam<Wrong> {};

TEST_P(WaiverMistake, IsToldAtItsPlace) {
  const auto& wrong = GetParam();
  const auto result = compiled("waivers:\n  w: { " + std::string(wrong.waiver) + " }\n",
                               "actions:\n  lower: { deny: run }\n");
  EXPECT_FALSE(result.program);
  ASSERT_FALSE(result.diagnostics.empty());
  const auto& found = result.diagnostics.front();
  EXPECT_EQ(found.code, wrong.code) << found.format();
  EXPECT_EQ(found.at, (Position{11, wrong.column})) << found.format();
  EXPECT_NE(found.message.find(wrong.says), std::string::npos) << found.format();
}

INSTANTIATE_TEST_SUITE_P(
    Table, WaiverMistake,
    testing::Values(
        Wrong{"unknown_rule", "lift: no-secret, for: alice, until: 2027-03-01, reason: x", "P0171", 14,
              "did you mean `no-secrets`?"},
        Wrong{"other_tier", "lift: lower, for: alice, until: 2027-03-01, reason: x", "P0172", 14,
              "is of tier `project`"},
        Wrong{"allow", "lift: all, for: alice, until: 2027-03-01, reason: x", "P0173", 14, "allows"},
        Wrong{"no_target", "for: alice, until: 2027-03-01, reason: x", "P0108", 6, "needs the key `lift`"},
        Wrong{"no_end", "lift: no-secrets, for: alice, reason: x", "P0108", 6, "needs the key `until`"},
        Wrong{"no_reason", "lift: no-secrets, for: alice, until: 2027-03-01", "P0108", 6,
              "needs the key `reason`"},
        Wrong{"empty_reason", "lift: no-secrets, for: alice, until: 2027-03-01, reason: \"\"", "P0174", 65,
              "is empty"},
        Wrong{"no_such_day", "lift: no-secrets, for: alice, until: 2027-02-29, reason: x", "S0110", 45,
              "a day like `2027-03-01`"},
        Wrong{"a_time", "lift: no-secrets, for: alice, until: 14d, reason: x", "S0110", 45, "not `14d`"},
        Wrong{"everything", "lift: no-secrets, until: 2027-03-01, reason: x", "P0121", 3, "asks nothing"},
        Wrong{"self_declared", "lift: no-secrets, for: chatty, until: 2027-03-01, reason: x", "P0125", 31,
              "cannot allow anything"},
        Wrong{"fact_of_another_action",
              "lift: ask-nat, host_path: \"transfer:a\", until: 2027-03-01, reason: x", "P0114", 23,
              "means nothing"},
        Wrong{"unknown_key", "lift: no-secrets, fro: alice, until: 2027-03-01, reason: x", "P0107", 26,
              "did you mean `for`?"}),
    [](const auto& at) { return at.param.name; });

TEST(Waivers, HaveIdsOfTheirOwn) {
  const auto twice =
      compiled(kWaived + "  no-secrets: { lift: ask-nat, for: alice, until: 2027-03-01, reason: x }\n");
  ASSERT_EQ(twice.diagnostics.size(), 1U);
  EXPECT_EQ(twice.diagnostics[0].code, "P0105");
  std::vector<Source> files{
      {"p.yaml", kHead + kWaived, {}},
      {"r.yaml", "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n" + kWaived, {}}};
  const auto both = compile(files);
  ASSERT_EQ(both.diagnostics.size(), 1U);
  EXPECT_EQ(both.diagnostics[0].where(), "r.yaml:6:3");
}

class Waived : public testing::Test {
 protected:
  Judgement judged(std::string_view path, std::optional<std::chrono::sys_seconds> at,
                   Subject who = agent()) const {
    auto request = ask(CopyIn{box(), host(path), guest("/tmp"), survey(1, 1)}, std::move(who));
    request.at = at;
    return made_.program->judge(request, known_settings());
  }
  const Compiled made_ = compiled(kWaived);
};

TEST_F(Waived, LiftsWhereAllOfItHoldsUntilItsDayIsOver) {
  ASSERT_TRUE(made_.program) << made_.error().message;
  const auto lifted =
      judged("fixtures/a/.env", day("2027-03-01") + std::chrono::hours(24) - std::chrono::seconds(1));
  EXPECT_EQ(said(lifted), "allow all");
  ASSERT_EQ(lifted.waivers.size(), 1U);
  EXPECT_EQ(lifted.waivers[0], (RuleRef{"old", "user", "p.yaml:11:3"}));
  EXPECT_TRUE(lifted.unknown.empty());

  const auto ended = judged("fixtures/a/.env", day("2027-03-02"));
  EXPECT_EQ(said(ended), "deny no-secrets");
  EXPECT_TRUE(ended.waivers.empty());
  EXPECT_EQ(said(judged("fixtures/a/.env", std::nullopt)), "deny no-secrets") << "no time is known";
  EXPECT_EQ(said(judged("web/.env", day("2027-01-01"))), "deny no-secrets");
  EXPECT_TRUE(judged("src/a", day("2027-01-01")).waivers.empty()) << "the rule does not speak anyway";
  auto unnamed = agent();
  unnamed.os_user.clear();
  EXPECT_EQ(said(judged("fixtures/a/.env", day("2027-01-01"), unnamed)), "deny no-secrets");
}

TEST_F(Waived, OffersAToolThatItMayLet) {
  const auto result = compiled(
      "  no-run: { deny: run }\nwaivers:\n  w: { lift: no-run, for: alice, until: 2027-03-01, reason: x }\n");
  ASSERT_TRUE(result.program);
  const auto index = Action(policy::Run{box(), "x", {}}).index();
  EXPECT_TRUE(result.program->may_be_allowed(agent(), index));
  auto other = agent();
  other.os_user = "bob";
  EXPECT_FALSE(result.program->may_be_allowed(other, index));
}

TEST(Waivers, AreForQuestionsToo) {
  const auto result =
      compiled("waivers:\n  w: { lift: ask-nat, for: alice, until: 2027-03-01, reason: x }\n");
  ASSERT_TRUE(result.program);
  auto request = ask(Create{Network::nat});
  request.at = day("2027-03-01");
  EXPECT_EQ(said(result.program->judge(request, known_settings())), "allow all");
  request.at = day("2027-03-02");
  EXPECT_EQ(said(result.program->judge(request, known_settings())), "ask ask-nat");
}

TEST(Waivers, TestsSayTheDay) {
  const std::string tests =
      "tests:\n"
      "  - { call: copy_in, host_path: fixtures/a/.env, guest_path: /tmp/a, as: alice, at: 2027-02-01, "
      "expect: allow }\n"
      "  - { call: copy_in, host_path: fixtures/a/.env, guest_path: /tmp/a, as: alice, at: 2027-03-02, "
      "expect: deny "
      "no-secrets }\n"
      "  - { call: copy_in, host_path: fixtures/a/.env, guest_path: /tmp/a, as: alice, expect: deny "
      "no-secrets }\n";
  const auto result = compiled(kWaived + tests);
  for (const auto& found : result.diagnostics) ADD_FAILURE() << found.format();
  const auto wrong = compiled(kWaived + "tests:\n  - { call: list, at: soon, expect: allow }\n");
  ASSERT_FALSE(wrong.diagnostics.empty());
  EXPECT_EQ(wrong.diagnostics[0].code, "S0110");
}

TEST(Waivers, ThatEndedAreErrorsToACheckAndNotToAGateway) {
  const struct {
    const char* today;
    const char* code;
    bool good;
  } days[] = {{"2027-01-01", "", true},
              {"2027-02-14", "", true},
              {"2027-02-15", "P0178", true},
              {"2027-03-01", "P0178", true},
              {"2027-03-02", "P0177", false}};
  for (const auto& one : days) {
    auto result = compiled(kWaived);
    ASSERT_TRUE(result.program);
    check_days(result, day(one.today));
    EXPECT_EQ(result.program != nullptr, one.good) << one.today;
    ASSERT_EQ(result.diagnostics.size(), *one.code == '\0' ? 0U : 1U) << one.today;
    if (*one.code == '\0') continue;
    EXPECT_EQ(result.diagnostics[0].code, one.code);
    EXPECT_EQ(result.diagnostics[0].where(), "p.yaml:11:87");
  }
}

TEST(Waivers, AreExplained) {
  const std::vector<Source> sources{{"p.yaml", kHead + kWaived, {}}};
  const auto studied = study(sources);
  ASSERT_TRUE(studied.anatomy);
  StatedQuestion stated{
      {ask(CopyIn{box(), host("fixtures/.env"), guest("/tmp"), survey(1, 1)})}, known_settings(), {}};
  stated.requests[0].at = day("2027-02-01");
  const auto text = to_text(explain(*studied.anatomy, stated));
  EXPECT_NE(text.find("waived: rule `no-secrets` by waiver `old` at p.yaml:11:3 until 2027-03-01: fake keys"),
            std::string::npos)
      << text;
}

TEST(Waivers, EngineTellsTheTimeAndAClockSetBackBringsNothingBack) {
  fakes::FakeSink sink;
  fakes::FakeInventory inventory;
  fakes::FakeClock clock;  // 2026-01-01
  Engine::Parts parts;
  parts.program =
      compiled("waivers:\n  w: { lift: ask-nat, for: alice, until: 2026-01-02, reason: x }\n").program;
  parts.sink = &sink;
  parts.inventory = &inventory;
  parts.clock = &clock;
  parts.settings = known_settings();
  Engine engine(std::move(parts));
  const auto decide = [&] {
    engine.decide({agent(), {CallId::random(), "1", std::nullopt}}, Create{Network::nat}).settle([](auto) {});
    return sink.decisions().back().decision;
  };
  const auto lifted = decide();
  EXPECT_EQ(lifted.effect, Effect::allow);
  ASSERT_EQ(lifted.waivers.size(), 1U);
  EXPECT_EQ(lifted.waivers[0].id, "w");
  clock.advance(std::chrono::hours(48));
  EXPECT_EQ(decide().effect, Effect::ask);
  clock.jump_wall(-std::chrono::hours(40));
  EXPECT_EQ(decide().effect, Effect::ask);
  clock.jump_wall(std::chrono::hours(-24 * 365));
  EXPECT_EQ(decide().effect, Effect::ask);
}

// Waivers of one tier, with and without what they rest on.
TEST(WaiverProperty, NeverLiftsWhatAnotherTierSaysAndNothingWithoutItsFacts) {
  Dice dice(31);
  int lifted = 0, kept = 0;
  for (int round = 0; round < 200; ++round) {
    const auto effect = dice.one<std::string>({"deny", "ask"});
    const auto condition =
        dice.one<std::string>({"for: alice", "host_path: \"transfer:a/**\"", "bytes: { max: 1KiB }",
                               "when: { settings.web: true }", "not: { files: { min: 9 } }"});
    const std::string upper =
        "sallyport: policy/v1\ntier: user\nname: u\ndefault: deny\nsubjects: { alice: { os_user: "
        "alice } }\nactions:\n  all: { allow: any }\n  r: { " +
        effect + ": copy_in }\n";
    const std::string waiver =
        "waivers:\n  w: { lift: r, " + condition + ", until: 2030-01-01, reason: x }\n";
    const bool below = dice.chance(50);
    const std::string lower =
        "sallyport: policy/v1\ntier: project\nname: p\ndefault: inherit\nactions:\n  r: { " +
        dice.one<std::string>({"deny", "ask"}) + ": copy_in }\n";
    std::vector<Source> plain{{"u", upper, {}}}, with{{"u", upper + waiver, {}}};
    if (below) {
      plain.push_back({"p", lower, {}});
      with.push_back({"p", lower, {}});
    }
    const auto a = compile(plain), b = compile(with);
    ASSERT_TRUE(a.program && b.program) << b.error().message;
    const auto& waived = dynamic_cast<const RuleProgram&>(*b.program);
    for (int i = 0; i < 20; ++i) {
      auto request = ask(CopyIn{box(), host(dice.one<std::string>({"a/b", "c"})), guest("/tmp"),
                                survey(dice.below(20), 1U << dice.below(20))});
      request.at = day("2027-01-01");
      auto settings = known_settings();
      settings["web"] = dice.chance(50);
      Clamp clamp;
      const auto known = waived.judge(Question{request, settings, {}}, clamp);
      if (below) {
        // The other tier's rule of the same name stands.
        ASSERT_NE(known.effect, Effect::allow);
      }
      lifted += known.waivers.empty() ? 0 : 1;
      std::bitset<kFacts> all;
      all.set();
      request.who.os_user.clear();
      const auto blind = waived.judge(Question{request, {}, all}, clamp);
      ASSERT_TRUE(blind.waivers.empty());
      ASSERT_NE(blind.effect, Effect::allow);
      kept += blind.effect != Effect::allow ? 1 : 0;
    }
  }
  EXPECT_GT(lifted, 500);
  EXPECT_GT(kept, 500);
}

}  // namespace
}  // namespace policy
