// Rules and policies that are tried out: what they would do is told, and nothing else changes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policy/engine.h"
#include "policy/rule_program.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"
#include "tests/policy/dice.h"
#include "tests/policy/judgements.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;
using namespace std::chrono_literals;

const std::string kHead =
    "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n"
    "subjects: { alice: { os_user: alice }, sec: { os_user: sam } }\nactions:\n";

std::shared_ptr<const Program> program(const std::string& rules) {
  const std::vector<Source> sources{{"p.yaml", kHead + rules, {}}};
  auto made = compile(sources);
  EXPECT_TRUE(made.program) << made.error().message;
  return made.program;
}

// `deny x!` where the answer would be another.
std::string shadow_of(const Judgement& judgement) {
  std::string out;
  for (const auto& says : judgement.shadow) {
    out += (out.empty() ? "" : ", ") + std::string(spelling(says.effect)) + " " + says.rule.id +
           (says.differs ? "!" : "");
  }
  return out;
}

struct Tried {
  const char* name;
  const char* rules;
  Action what;
  const char* said;
  const char* shadow;
};
class Statement13Shadow : public testing::TestWithParam<Tried> {};

TEST_P(Statement13Shadow, IsToldAndNeverEnforced) {
  const auto& tried = GetParam();
  const auto rules = program(tried.rules);
  ASSERT_TRUE(rules);
  const auto judgement = judge(*rules, tried.what);
  EXPECT_EQ(said(judgement), tried.said);
  EXPECT_EQ(shadow_of(judgement), tried.shadow);
  for (const auto& rule : judgement.matched) EXPECT_FALSE(rule.id.starts_with("s")) << rule.id;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Statement13Shadow,
    testing::Values(
        Tried{"deny", "  all: { allow: any }\n  s: { deny: create, network: nat, shadow: true }\n",
              Create{Network::nat}, "allow all", "deny s!"},
        Tried{"silent", "  all: { allow: any }\n  s: { deny: create, network: nat, shadow: true }\n",
              Create{Network::none}, "allow all", ""},
        Tried{"off", "  all: { allow: any }\n  s: { deny: create, network: nat, shadow: false }\n",
              Create{Network::none}, "allow all", ""},
        Tried{"denied_anyway",
              "  all: { allow: any }\n  no: { deny: create }\n  s: { deny: create, shadow: true }\n",
              Create{Network::nat}, "deny no", "deny s"},
        Tried{"ask", "  all: { allow: any }\n  s: { ask: create, shadow: true }\n", Create{}, "allow all",
              "ask s!"},
        Tried{"asked_of_the_same_people", "  q: { ask: create }\n  s: { ask: create, shadow: true }\n",
              Create{}, "ask q", "ask s"},
        Tried{"asked_of_more_people", "  q: { ask: create }\n  s: { ask: create, who: sec, shadow: true }\n",
              Create{}, "ask q", "ask s!"},
        Tried{"allow", "  q: { allow: list }\n  s: { allow: create, shadow: true }\n", Create{},
              "deny default", "allow s!"},
        Tried{"allow_below_deny", "  no: { deny: create }\n  s: { allow: create, shadow: true }\n", Create{},
              "deny no", "allow s"},
        Tried{"clamp",
              "  q: { allow: run, clamp: { timeout: 1m } }\n"
              "  s: { allow: run, clamp: { timeout: 2s }, shadow: true }\n"
              "  s2: { allow: run, clamp: { timeout: 30m }, shadow: true }\n",
              policy::Run{box(), "make", 10s}, "allow q", "allow s!, allow s2"},
        Tried{"alone_each",
              "  q: { allow: list }\n  s1: { allow: create, shadow: true }\n"
              "  s2: { deny: create, shadow: true }\n",
              Create{}, "deny default", "allow s1!, deny s2"}),
    [](const auto& at) { return at.param.name; });

TEST(ShadowRules, ExamplesOfThemRunAndTheirGapsAreNotNamed) {
  const std::vector<Source> bad{
      {"p.yaml",
       kHead + "  s: { deny: create, network: nat, shadow: true, examples: { deny: [web] } }\n",
       {}}};
  const auto compiled = compile(bad);
  ASSERT_FALSE(compiled.program);
  EXPECT_EQ(compiled.diagnostics.front().code, "P0151");

  const auto rules = program("  all: { allow: any }\n  s: { deny: create, for: alice, shadow: true }\n");
  auto nobody = agent();
  nobody.os_user.clear();
  const auto judgement = judge(*rules, Create{}, known_settings(), nobody);
  EXPECT_EQ(shadow_of(judgement), "deny s!");
  EXPECT_TRUE(judgement.unknown.empty());
}

TEST(ShadowRules, LowerNothing) {
  const auto rules =
      program("  q: { allow: run }\n  s: { allow: run, clamp: { timeout: 2s }, shadow: true }\n");
  auto request = ask(policy::Run{box(), "make", 10s});
  rules->judge(request, known_settings());
  EXPECT_EQ(std::get<policy::Run>(request.what).timeout, 10s);
}

std::string random_rule(Dice& dice, const std::string& id) {
  const auto effect = dice.one<std::string>({"allow", "allow", "ask", "deny"});
  auto text = "  " + id + ": { " + effect + ": " + dice.one<std::string>({"create", "run", "[create, run]"});
  const auto ask = dice.below(4);
  if (ask == 0) text += ", for: alice";
  if (ask == 1) text += ", when: { settings.web: true }";
  if (ask == 2) text += ", not: { for: alice }";
  if (effect != "deny" && text.find("create") == std::string::npos && dice.chance(50))
    text += ", clamp: { timeout: " + dice.one<std::string>({"1s", "5s"}) + " }";
  return text;
}

TEST(Statement13Property, AddingThemChangesNothingButWhatIsToldOfThem) {
  Dice dice(21);
  int spoke = 0, differed = 0;
  for (int round = 0; round < 150; ++round) {
    std::string rules = "  last: { allow: list }\n", more;
    for (auto n = dice.below(5); n > 0; --n) rules += random_rule(dice, "r" + std::to_string(n)) + " }\n";
    for (auto n = 1 + dice.below(4); n > 0; --n)
      more += random_rule(dice, "s" + std::to_string(n)) + ", shadow: true }\n";
    // Behind the rules, so that these keep their places.
    const auto plain = program(rules), with = program(rules + more);
    ASSERT_TRUE(plain && with);
    for (int i = 0; i < 20; ++i) {
      auto who = agent();
      if (dice.chance(50)) who.os_user = dice.one<std::string>({"", "bob"});
      auto settings = known_settings();
      settings["web"] = dice.chance(50);
      if (dice.chance(20)) settings.erase("web");
      const Action what = dice.chance(50) ? Action(Create{}) : Action(policy::Run{box(), "x", 10s});
      auto a = ask(what, who), b = ask(what, who);
      const auto one = plain->judge(a, settings), other = with->judge(b, settings);
      ASSERT_NO_FATAL_FAILURE(expect_same(one, other));
      ASSERT_EQ(describe(a.what, ""), describe(b.what, ""));
      ASSERT_TRUE(one.shadow.empty());
      for (std::size_t act = 0; act < std::variant_size_v<Action>; ++act)
        ASSERT_EQ(plain->may_be_allowed(who, act), with->may_be_allowed(who, act));
      for (const auto& says : other.shadow) {
        ++spoke;
        differed += says.differs ? 1 : 0;
      }
    }
  }
  EXPECT_GT(spoke, 500);
  EXPECT_GT(differed, 200);
}

class Statement13Watched : public testing::Test {
 protected:
  std::unique_ptr<Engine> engine(const std::shared_ptr<const Program>& rules, ShadowWatch* watch) {
    Engine::Parts parts;
    parts.program = rules;
    parts.sink = &sink_;
    parts.inventory = &inventory_;
    parts.clock = &clock_;
    parts.shadow = watch;
    parts.settings = known_settings();
    return std::make_unique<Engine>(std::move(parts));
  }
  Decision decide(Engine& by, Network network) {
    by.decide({agent(), {CallId::random(), "1", std::nullopt}}, Create{network}).settle([](auto) {});
    return sink_.decisions().back().decision;
  }

  fakes::FakeSink sink_;
  fakes::FakeInventory inventory_;
  fakes::FakeClock clock_;
  ShadowWatch watch_{clock_};
};

TEST_F(Statement13Watched, RulesAreCountedAndRecorded) {
  const auto rules = program(
      "  all: { allow: create }\n  s: { deny: create, network: nat, shadow: true }\n"
      "  never: { deny: run, shadow: true }\n");
  const auto door = engine(rules, &watch_);
  EXPECT_TRUE(decide(*door, Network::none).shadow.empty());
  const auto decision = decide(*door, Network::nat);
  EXPECT_EQ(decision.effect, Effect::allow);
  ASSERT_EQ(decision.shadow.size(), 1U);
  EXPECT_EQ(decision.shadow[0].rule.id, "s");
  EXPECT_TRUE(decision.shadow[0].differs);
  ASSERT_EQ(watch_.rules().size(), 2U);
  const auto& never = watch_.rules()[0];
  const auto& counted = watch_.rules()[1];
  EXPECT_EQ(counted.counts.evaluated, 2U);
  EXPECT_EQ(counted.counts.matched, 1U);
  EXPECT_EQ(counted.counts.changed, 1U);
  EXPECT_FALSE(watch_.idle(never.counts));
  clock_.advance(24h);
  EXPECT_TRUE(watch_.idle(never.counts));
  EXPECT_FALSE(watch_.idle(counted.counts));

  // Another policy with the same rule goes on counting; one without it forgets.
  door->put_in_force(program("  s: { deny: create, network: nat, shadow: true }\n"));
  ASSERT_EQ(watch_.rules().size(), 1U);
  EXPECT_EQ(watch_.rules()[0].counts.evaluated, 2U);
  door->put_in_force(program("  all: { allow: create }\n"));
  EXPECT_TRUE(watch_.rules().empty());
}

TEST_F(Statement13Watched, APolicyIsAskedWhatWasAskedAndToldOfOnlyWhereItsEffectIsAnother) {
  const auto door = engine(program("  all: { allow: create }\n"), &watch_);
  const auto candidate = program("  make: { allow: create }\n  no-nat: { deny: create, network: nat }\n");
  EXPECT_FALSE(decide(*door, Network::nat).shadow_policy);
  watch_.try_out(candidate);
  EXPECT_FALSE(decide(*door, Network::none).shadow_policy) << "another rule, and the same effect";
  const auto decision = decide(*door, Network::nat);
  EXPECT_EQ(decision.effect, Effect::allow);
  EXPECT_EQ(decision.rule.id, "all");
  ASSERT_TRUE(decision.shadow_policy);
  EXPECT_EQ(decision.shadow_policy->effect, Effect::deny);
  EXPECT_EQ(decision.shadow_policy->rule.id, "no-nat");
  EXPECT_EQ(decision.shadow_policy->policy, candidate->digest());
  EXPECT_EQ(watch_.candidate_counts().evaluated, 2U);
  EXPECT_EQ(watch_.candidate_counts().changed, 1U);
  watch_.try_out(program("  make: { allow: create }\n  no-nat: { deny: create, network: nat }\n"));
  EXPECT_EQ(watch_.candidate_counts().evaluated, 2U) << "the same text";
  watch_.try_out(program("  make: { allow: create }\n"));
  EXPECT_EQ(watch_.candidate_counts().evaluated, 0U);
}

TEST_F(Statement13Watched, APolicyNeverChangesADecision) {
  Dice dice(22);
  int differed = 0;
  for (int round = 0; round < 60; ++round) {
    std::string mine, theirs = "  last: { allow: list }\n";
    for (auto n = 1 + dice.below(4); n > 0; --n) {
      mine += random_rule(dice, "r" + std::to_string(n)) + " }\n";
      theirs += random_rule(dice, "c" + std::to_string(n)) + " }\n";
    }
    const auto rules = program(mine);
    const auto alone = engine(rules, nullptr), watched = engine(rules, &watch_);
    watch_.try_out(program(theirs));
    if (dice.chance(10)) watch_.try_out(std::make_shared<BrokenProgram>());
    for (const auto network : {Network::none, Network::nat}) {
      const auto a = decide(*alone, network), b = decide(*watched, network);
      ASSERT_EQ(a.effect, b.effect);
      ASSERT_EQ(a.code, b.code);
      ASSERT_EQ(a.rule, b.rule);
      ASSERT_EQ(a.reason, b.reason);
      ASSERT_EQ(a.matched, b.matched);
      ASSERT_EQ(a.unknown, b.unknown);
      differed += b.shadow_policy ? 1 : 0;
    }
  }
  EXPECT_GT(differed, 20);
}

TEST(ShadowRules, ThatHaveBeenTriedForLongAreTold) {
  const auto found_on = [](std::chrono::year_month_day day) {
    const std::vector<Source> sources{
        {"p.yaml",
         kHead + "  r: { deny: run, shadow: true, since: 2026-08-20 }\n  q: { deny: run, shadow: true }\n",
         {}}};
    auto made = compile(sources);
    check_days(made, std::chrono::sys_days(day));
    EXPECT_TRUE(made.program);
    std::string codes;
    for (const auto& one : made.diagnostics) codes += one.code + " " + one.where() + " ";
    return codes;
  };
  using namespace std::chrono;
  EXPECT_EQ(found_on(2026y / November / 18), "");
  EXPECT_EQ(found_on(2026y / November / 19), "P0312 p.yaml:7:40 ");
  EXPECT_EQ(found_on(2026y / August / 20), "");
  EXPECT_EQ(found_on(2026y / August / 19), "P0313 p.yaml:7:40 ");
  const std::vector<Source> enforced{{"p.yaml", kHead + "  r: { deny: run, since: 2026-08-20 }\n", {}}};
  EXPECT_EQ(compile(enforced).diagnostics.front().code, "P0170");
}

}  // namespace
}  // namespace policy
