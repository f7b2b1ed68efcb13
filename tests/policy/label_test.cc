// What rules remember of a sandbox: who sees which label, and that a lower tier never widens over time.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "policy/engine.h"
#include "policy/rule_program.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"
#include "tests/policy/dice.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

std::string tier_text(const std::string& tier, const std::string& stance, const std::string& rules) {
  return "sallyport: policy/v1\ntier: " + tier + "\nname: " + tier + "\ndefault: " + stance + "\nactions:\n" +
         rules;
}

std::shared_ptr<const RuleProgram> program(const std::vector<std::string>& tiers) {
  std::vector<Source> sources;
  for (const auto& text : tiers) {
    sources.push_back({"p" + std::to_string(sources.size()) + ".yaml", text, {}});
  }
  auto result = compile(sources);
  for (const auto& found : result.diagnostics) {
    if (found.severity == Severity::error) ADD_FAILURE() << found.format() << "\n" << tiers.back();
  }
  return std::dynamic_pointer_cast<const RuleProgram>(result.program);
}

Judgement judged(const Program& program, Action what, const Labels& labels) {
  auto request = ask(std::move(what));
  request.sandbox->labels = labels;
  return program.judge(request, known_settings());
}

Action run_of(const std::string& command) { return Run{box(), command, std::chrono::seconds(60)}; }

TEST(Labels, AreThoseOfEveryRuleThatLetsItThrough) {
  const auto made =
      program({tier_text("org", "deny",
                         "  a: { allow: run, label: [x, u] }\n  b: { ask: run, command: b, label: z "
                         "}\n  c: { deny: run, command: c }\n"),
               tier_text("project", "deny", "  d: { allow: run, label: [x, w] }\n")});
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(judged(*made, run_of("a"), {}).labels,
            (Labels{{"u", Tier::org}, {"w", Tier::project}, {"x", Tier::org}}));
  EXPECT_EQ(judged(*made, run_of("b"), {}).labels,
            (Labels{{"u", Tier::org}, {"w", Tier::project}, {"x", Tier::org}, {"z", Tier::org}}));
  EXPECT_EQ(judged(*made, run_of("c"), {}).labels, Labels{});
}

// Each question twice: with a label that the rule's own tier set, and with the same of a lower one.
struct View {
  const char* name;
  const char* rule;
  const char* own;
  const char* lower;
};
class LabelsSeen : public testing::TestWithParam<View> {};

TEST_P(LabelsSeen, AreThoseThatMayCount) {
  const auto made =
      program({tier_text("org", "deny", "  z: { allow: list }\n" + std::string(GetParam().rule)),
               tier_text("project", "inherit", "  y: { deny: image_build }\n")});
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(said(judged(*made, run_of("a"), {{"x", Tier::org}})), GetParam().own);
  EXPECT_EQ(said(judged(*made, run_of("a"), {{"x", Tier::project}})), GetParam().lower);
}

INSTANTIATE_TEST_SUITE_P(
    Table, LabelsSeen,
    testing::Values(
        View{"allow", "  r: { allow: run, sandbox: x }\n", "allow r", "deny default"},
        View{"allow_without", "  r: { allow: run, not: { sandbox: x } }\n", "deny default", "allow r"},
        View{"allow_unless", "  r: { allow: run, unless: { sandbox: x } }\n", "deny default", "allow r"},
        View{"deny", "  a: { allow: run }\n  r: { deny: run, sandbox: x }\n", "deny r", "deny r"},
        View{"deny_without", "  a: { allow: run }\n  r: { deny: run, not: { sandbox: x } }\n", "allow a",
             "deny r"},
        View{"deny_unless", "  a: { allow: run }\n  r: { deny: run, unless: { sandbox: x } }\n", "allow a",
             "deny r"},
        View{"ask", "  a: { allow: run }\n  r: { ask: run, sandbox: x }\n", "ask r", "ask r"},
        View{"ask_alone", "  r: { ask: run, sandbox: x }\n", "ask r", "deny default"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// What a rule lets through earns a label, and not what it might yet let through.
TEST(Labels, OfARuleThatWaitsForAFactArePutWhenItIsKnown) {
  const auto small =
      program({tier_text("org", "deny",
                         "  all: { allow: copy_out }\n"
                         "  small: { allow: copy_out, bytes: { max: 1KiB }, label: small-only }\n")});
  ASSERT_NE(small, nullptr);
  const auto out = [&](std::uint64_t bytes) {
    return judged(*small, PublishOut{box(), guest("/a"), host("a"), survey(1, bytes)}, {}).labels;
  };
  EXPECT_EQ(judged(*small, FetchOut{box(), guest("/a"), host("a")}, {}).labels, Labels{});
  EXPECT_EQ(out(100), (Labels{{"small-only", Tier::org}}));
  EXPECT_EQ(out(100'000), Labels{});

  const auto web =
      program({"sallyport: policy/v1\ntier: org\nname: org\ndefault: deny\nweb:\n"
               "  login: { allow: GET, hosts: a.org, paths: /login, tls: inspect, label: logged-in }\n"
               "  look: { allow: GET, hosts: a.org, tls: inspect }\n"});
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(judged(*web, tunnel_of(box(), *Host::parse("a.org"), 443, Tunnel::Sight::inspected), {}).labels,
            Labels{});
  EXPECT_EQ(judged(*web, fetch_of(box(), "GET", *parse_url("https://a.org/public")), {}).labels, Labels{});
  EXPECT_EQ(judged(*web, fetch_of(box(), "GET", *parse_url("https://a.org/login")), {}).labels,
            (Labels{{"logged-in", Tier::org}}));
}

TEST(Labels, ThatAHigherTierPutsForALowerOneAreTheLowerOnes) {
  const auto made = program({tier_text("org", "deny",
                                       "  z: { allow: run }\n  a: { ask: run, sandbox: low, label: high }\n"
                                       "  b: { allow: start, sandbox: high }\n"),
                             tier_text("project", "inherit", "  c: { deny: image_build }\n")});
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(judged(*made, run_of("a"), {{"low", Tier::org}}).labels, (Labels{{"high", Tier::org}}));
  EXPECT_EQ(judged(*made, run_of("a"), {{"low", Tier::project}}).labels, (Labels{{"high", Tier::session}}));
}

// Random tiers whose rules read and put labels, asked in sequence.
constexpr std::array<const char*, 4> kActions{"run", "start", "screenshot", "destroy"};

Action action_of(std::size_t which) {
  switch (which) {
    case 0:
      return run_of("x");
    case 1:
      return Start{box(), "x"};
    case 2:
      return Screenshot{box()};
    default:
      return Destroy{box(), DestroyCause::asked};
  }
}

std::string about_labels(Dice& dice) {
  const auto label = dice.one<std::string>({"p", "q", "[p, q]", "r", "{ labels: { all: [p, r] } }"});
  switch (dice.below(3)) {
    case 0:
      return ", sandbox: " + label;
    case 1:
      return ", not: { sandbox: " + label + " }";
    default:
      return ", unless: { sandbox: " + label + " }";
  }
}

std::string random_rules(Dice& dice, const std::string& prefix) {
  std::string rules;
  for (std::size_t n = 1 + dice.below(8); n > 0; --n) {
    const auto effect = dice.one<std::string>({"allow", "allow", "allow", "ask", "deny"});
    rules +=
        "  " + prefix + std::to_string(n) + ": { " + effect + ": " + kActions[dice.below(kActions.size())];
    if (dice.chance(60)) rules += about_labels(dice);
    if (effect != "deny" && dice.chance(60)) rules += ", label: " + dice.one<std::string>({"p", "q", "r"});
    rules += " }\n";
  }
  return rules;
}

// What is done under `narrow` in a row of calls is possible under `wide` too, and in no easier a way, when
// the same is done there. An ask is done, as if a person had agreed.
void expect_narrower(const RuleProgram& narrow, const RuleProgram& wide, Dice& dice,
                     const std::string& text) {
  Labels here, there;
  for (int step = 0; step < 12; ++step) {
    const auto what = dice.below(kActions.size());
    const auto strict = judged(narrow, action_of(what), here);
    const auto loose = judged(wide, action_of(what), there);
    ASSERT_GE(strict.effect, loose.effect) << kActions[what] << " in step " << step << "\n" << text;
    if (strict.effect == Effect::deny) continue;
    add_labels(here, strict.labels);
    add_labels(there, loose.labels);
  }
}

TEST(LabelsProperty, ALowerTierNeverWidensOverASequence) {
  Dice dice(20261130);
  for (int round = 0; round < 3000; ++round) {
    const auto above = tier_text("org", "deny", random_rules(dice, "a"));
    const auto below = tier_text("project", dice.chance(70) ? "inherit" : "deny", random_rules(dice, "b"));
    const auto wide = program({above});
    const auto narrow = program({above, below});
    ASSERT_TRUE(wide && narrow) << above << below;
    ASSERT_NO_FATAL_FAILURE(expect_narrower(*narrow, *wide, dice, above + below));
  }
}

TEST(LabelsProperty, AnAddedDenyNeverWidensOverASequence) {
  Dice dice(30);
  for (int round = 0; round < 3000; ++round) {
    const auto rules = random_rules(dice, "a");
    std::string more = std::string("  z: { deny: ") + kActions[dice.below(kActions.size())];
    if (dice.chance(60)) more += about_labels(dice);
    const auto wide = program({tier_text("org", "deny", rules)});
    const auto narrow = program({tier_text("org", "deny", rules + more + " }\n")});
    ASSERT_TRUE(wide && narrow) << rules << more;
    ASSERT_NO_FATAL_FAILURE(expect_narrower(*narrow, *wide, dice, rules + more));
  }
}

// Keeps labels beside the sandboxes it tells of, and can be made to fail.
class Keeper final : public LabelKeeper {
 public:
  explicit Keeper(fakes::FakeInventory& inventory) : inventory_(inventory) {}
  Result<void> add(const SandboxId& id, const Labels& labels) override {
    ++asked;
    if (fails) return fail("disk.full", "no space");
    auto facts = *inventory_.find(id);
    add_labels(facts.labels, labels);
    inventory_.put(std::move(facts));
    return {};
  }
  int asked = 0;
  bool fails = false;

 private:
  fakes::FakeInventory& inventory_;
};

class LabelEngine : public testing::Test {
 protected:
  void SetUp() override {
    Engine::Parts parts;
    parts.program = program({tier_text("org", "deny",
                                       "  a: { allow: [run, create], label: used }\n"
                                       "  b: { deny: start, sandbox: used }\n  c: { allow: start }\n")});
    parts.sink = &sink_;
    parts.inventory = &inventory_;
    parts.clock = &clock_;
    parts.labels = &keeper_;
    parts.settings = known_settings();
    engine_ = std::make_unique<Engine>(std::move(parts));
    id_ = inventory_.add(agent().principal);
  }
  template <class A>
  std::optional<Verdict<A>> decide(A what) {
    std::optional<Verdict<A>> got;
    engine_->decide({agent(), {CallId::random(), "1", std::nullopt}}, std::move(what))
        .settle([&](Verdict<A> verdict) { got.emplace(std::move(verdict)); });
    return got;
  }
  Decision last() const { return sink_.decisions().back().decision; }

  fakes::FakeSink sink_;
  fakes::FakeInventory inventory_;
  fakes::FakeClock clock_;
  Keeper keeper_{inventory_};
  std::unique_ptr<Engine> engine_;
  std::optional<SandboxId> id_;
};

TEST_F(LabelEngine, KeepsALabelOnceAndRecordsIt) {
  EXPECT_TRUE(std::holds_alternative<Grant<Start>>(*decide(Start{*id_, "x"})));
  EXPECT_TRUE(
      std::holds_alternative<Grant<policy::Run>>(*decide(policy::Run{*id_, "x", std::chrono::seconds(1)})));
  EXPECT_EQ(last().labels, (Labels{{"used", Tier::org}}));
  EXPECT_EQ(inventory_.find(*id_)->labels, (Labels{{"used", Tier::org}}));
  EXPECT_TRUE(
      std::holds_alternative<Grant<policy::Run>>(*decide(policy::Run{*id_, "x", std::chrono::seconds(1)})));
  EXPECT_EQ(last().labels, Labels{});
  EXPECT_EQ(keeper_.asked, 1);
  EXPECT_TRUE(std::holds_alternative<Denial>(*decide(Start{*id_, "x"})));
  EXPECT_EQ(last().rule.id, "b");
}

TEST_F(LabelEngine, RefusesWhatItCannotLabel) {
  keeper_.fails = true;
  const auto verdict = decide(policy::Run{*id_, "x", std::chrono::seconds(1)});
  ASSERT_TRUE(std::holds_alternative<Denial>(*verdict));
  EXPECT_EQ(std::get<Denial>(*verdict).code, "deny.obligation");
  EXPECT_EQ(last().labels, Labels{});
  EXPECT_EQ(inventory_.find(*id_)->labels, Labels{});
}

TEST_F(LabelEngine, GivesANewSandboxItsLabelsWithTheGrant) {
  auto verdict = decide(Create{});
  auto* grant = std::get_if<Grant<Create>>(&*verdict);
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->labels(), (Labels{{"used", Tier::org}}));
  EXPECT_EQ(last().labels, (Labels{{"used", Tier::org}}));
}

}  // namespace
}  // namespace policy
