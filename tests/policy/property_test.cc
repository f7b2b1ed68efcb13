// Statements 5 and 6 of the policy reference, on random policies and questions: order never matters, more
// rules never widen where they must not, and not knowing never widens.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/rule_program.h"
#include "tests/policy/dice.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

// A condition that every one of the copies has an answer to, in flow style.
std::string condition(Dice& dice, int depth) {
  switch (dice.below(depth > 0 ? 10 : 7)) {
    case 0:
      return "host_path: \"transfer:" +
             dice.one<std::string>({"**", "a/**", "**/.env", "*", "$secret", "a/?"}) + "\"";
    case 1:
      return "host_path: { not: \"transfer:" + dice.one<std::string>({"**/.env", "b", "a/**"}) + "\" }";
    case 2:
      return "bytes: { max: " + dice.one<std::string>({"1B", "1KiB", "1MiB"}) + " }";
    case 3:
      return "files: { min: " + dice.one<std::string>({"0", "2", "50"}) + " }";
    case 4:
      return "for: " + dice.one<std::string>({"alice", "terminal", "[alice, terminal]", "nobody"});
    case 5:
      return "when: { settings.web: " + dice.one<std::string>({"true", "false"}) + " }";
    case 6:
      return "sandbox: { labels: { " + dice.one<std::string>({"any", "all"}) + ": [p, q] } }";
    case 7:
      return "not: { " + condition(dice, depth - 1) + " }";
    case 8:
      return "any: [ { " + condition(dice, depth - 1) + " }, { " + condition(dice, depth - 1) + " } ]";
    default:
      return "all: [ { " + condition(dice, depth - 1) + " }, { " + condition(dice, depth - 1) + " } ]";
  }
}

std::string rule(Dice& dice, const std::string& effect, const std::string& id) {
  std::string text =
      "  " + id + ": { " + effect + ": " +
      dice.one<std::string>({"copy_in", "copy_out", "[copy_in, copy_out]", "copy_out.publish"});
  if (dice.chance(80)) text += ", " + condition(dice, 2);
  if (dice.chance(30)) text += ", unless: { " + condition(dice, 2) + " }";
  return text + " }\n";
}

struct Draft {
  std::string tier;
  std::string stance = "deny";
  std::vector<std::string> rules;
};

Draft draft(Dice& dice, const std::string& tier, const std::string& prefix) {
  Draft made{tier, tier == "project" && dice.chance(50) ? "inherit" : "deny", {}};
  for (std::size_t n = dice.below(7); n > 0; --n) {
    const auto effect = dice.one<std::string>({"allow", "allow", "allow", "ask", "deny"});
    made.rules.push_back(rule(dice, effect, prefix + std::to_string(n)));
  }
  return made;
}

std::string head(const Draft& of) {
  return "sallyport: policy/v1\ntier: " + of.tier + "\nname: " + of.tier + "\ndefault: " + of.stance + "\n";
}

// Sets, what they hold, and subjects, in any order.
std::string names(Dice& dice) {
  std::vector<std::string> paths{"\"**/.env\"", "a/b", "\"c/*\""},
      subjects{"alice: { os_user: alice }", "terminal: { transport: cli }", "nobody: { uid: 9 }"};
  dice.shuffle(paths);
  dice.shuffle(subjects);
  const auto listed = [](const std::vector<std::string>& all) {
    std::string text;
    for (const auto& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
  };
  std::vector<std::string> sets{"secret: { paths: [" + listed(paths) + "] }", "other: { words: [x] }"};
  dice.shuffle(sets);
  return "sets: { " + listed(sets) + " }\nsubjects: { " + listed(subjects) + " }\n";
}

// The rules of each tier spread over `files` files; the names stand in one of them.
std::shared_ptr<const RuleProgram> program(const std::vector<Draft>& drafts, std::size_t files, Dice& dice) {
  std::vector<Source> sources;
  for (const auto& of : drafts) {
    std::vector<std::string> texts(files, "");
    for (const auto& text : of.rules) texts[dice.below(files)] += text;
    const auto named = dice.below(files);
    for (std::size_t i = 0; i < files; ++i) {
      sources.push_back(
          {"f",
           head(of) + (i == named ? names(dice) : "") + (texts[i].empty() ? "" : "actions:\n" + texts[i]),
           {}});
    }
  }
  dice.shuffle(sources);
  auto compiled = compile(sources);
  EXPECT_TRUE(compiled.program) << compiled.error().message;
  return std::dynamic_pointer_cast<const RuleProgram>(compiled.program);
}

struct Asked {
  Request request;
  Facts settings;
};

Asked question(Dice& dice) {
  const auto path = host(dice.one<std::string>({".", "a", "a/b", ".env", "a/.env", "b", "a/.x/c"}));
  const auto found = survey(dice.below(100), std::uint64_t{1} << dice.below(24));
  Action what = CopyIn{box(), path, guest("/tmp"), found};
  if (dice.chance(40)) what = FetchOut{box(), guest("/tmp"), path};
  if (dice.chance(40)) what = PublishOut{box(), guest("/tmp"), path, found};
  auto who = dice.chance(50) ? agent() : person();
  if (dice.chance(50)) who.os_user = "bob";
  Asked asked{ask(std::move(what), who), known_settings()};
  asked.settings["web"] = dice.chance(50);
  if (dice.chance(50)) asked.request.sandbox->labels.emplace("p", dice.one<Tier>({Tier::org, Tier::project}));
  if (dice.chance(50)) asked.request.sandbox->labels.emplace("q", dice.one<Tier>({Tier::org, Tier::project}));
  return asked;
}

Judgement judged(const RuleProgram& by, const Asked& asked, std::bitset<kFacts> withheld = {}) {
  Clamp clamp;
  return by.judge(Question{asked.request, asked.settings, withheld}, clamp);
}

// What a call comes to: a first half that goes on only because a person is asked about the second is a
// question.
Effect comes_to(const RuleProgram& by, const Asked& asked) {
  const auto judgement = judged(by, asked);
  return judgement.waits ? Effect::ask : judgement.effect;
}

constexpr int kRounds = 250;
constexpr int kQuestions = 40;

TEST(Statement05Property, OrderOfRulesFilesAndSetsNeverMatters) {
  Dice dice(1);
  int allowed = 0, asked_for = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Draft> drafts{draft(dice, "user", "u")};
    if (dice.chance(50)) drafts.push_back(draft(dice, "project", "p"));
    const auto first = program(drafts, 1, dice);
    for (auto& of : drafts) dice.shuffle(of.rules);
    const auto second = program(drafts, 3, dice);
    ASSERT_TRUE(first && second);
    for (int i = 0; i < kQuestions; ++i) {
      const auto asked = question(dice);
      const auto a = judged(*first, asked), b = judged(*second, asked);
      ASSERT_EQ(said(a), said(b));
      ASSERT_EQ(a.rule.tier, b.rule.tier);
      ASSERT_EQ(a.code, b.code);
      ASSERT_EQ(a.unknown, b.unknown);
      ASSERT_EQ(a.matched.size(), b.matched.size());
      for (std::size_t m = 0; m < a.matched.size(); ++m) ASSERT_EQ(a.matched[m].id, b.matched[m].id);
      allowed += a.effect == Effect::allow ? 1 : 0;
      asked_for += a.effect == Effect::ask ? 1 : 0;
    }
  }
  // The dice must not have made it easy.
  EXPECT_GT(allowed, kRounds);
  EXPECT_GT(asked_for, kRounds / 5);
}

TEST(Statement05Property, AnAddedRefusalOrLowerTierNeverWidens) {
  Dice dice(2);
  int changed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Draft> before{draft(dice, "user", "u"), draft(dice, "project", "p")};
    auto after = before;
    // A rule of the lower tier that allows lifts what that tier itself refuses, and nothing above it.
    bool lifts = false;
    switch (dice.below(4)) {
      case 0:
        after[dice.below(2)].rules.push_back(rule(dice, dice.one<std::string>({"deny", "ask"}), "added"));
        break;
      case 1:
        after.push_back(draft(dice, "session", "s"));
        break;
      case 2:
        after[1].rules.push_back(rule(dice, dice.one<std::string>({"deny", "ask"}), "added"));
        break;
      default:
        lifts = true;
        after[1].rules.push_back(rule(dice, "allow", "added"));
    }
    const auto first = program(before, 1, dice), second = program(after, 1, dice);
    const auto upper = program({after[0]}, 1, dice);
    ASSERT_TRUE(first && second && upper);
    for (int i = 0; i < kQuestions; ++i) {
      const auto asked = question(dice);
      const auto a = comes_to(*first, asked), b = comes_to(*second, asked), top = comes_to(*upper, asked);
      // Effects are ordered allow, ask, deny. An ask rule makes a tier speak that was silent before, which
      // may turn its default into a question, never into permission.
      if (a != Effect::allow && !lifts) {
        ASSERT_NE(b, Effect::allow);
      }
      ASSERT_GE(b, top);
      changed += a != b ? 1 : 0;
    }
  }
  EXPECT_GT(changed, kRounds / 5);
}

TEST(Statement06Property, NotKnowingAFactNeverWidens) {
  Dice dice(3);
  int changed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto rules = program({draft(dice, "user", "u"), draft(dice, "project", "p")}, 1, dice);
    ASSERT_TRUE(rules);
    for (int i = 0; i < kQuestions; ++i) {
      auto asked = question(dice);
      const auto known = judged(*rules, asked).effect;
      std::bitset<kFacts> withheld;
      for (std::size_t fact = 0; fact < kFacts; ++fact) withheld.set(fact, dice.chance(30));
      if (dice.chance(30)) asked.settings.erase("web");
      if (dice.chance(30)) asked.request.who.os_user.clear();
      if (dice.chance(30)) asked.request.who.uid.reset();
      if (dice.chance(20)) asked.request.sandbox.reset();
      const auto blind = judged(*rules, asked, withheld).effect;
      if (known != Effect::allow) {
        ASSERT_NE(blind, Effect::allow);
      }
      changed += known != blind ? 1 : 0;
    }
  }
  EXPECT_GT(changed, kRounds / 5);
}

// A tool that is not offered is one whose every call is refused, whatever its arguments.
TEST(Statement04Default, WhatMayNotBeAllowedIsNeverAllowed) {
  Dice dice(4);
  int hidden = 0, offered = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Draft> drafts{draft(dice, "user", "u"), draft(dice, "project", "p")};
    if (dice.chance(30)) drafts[0].rules.push_back("  all: { deny: copy_in, for: alice }\n");
    const auto rules = program(drafts, 1, dice);
    ASSERT_TRUE(rules);
    for (int i = 0; i < kQuestions; ++i) {
      const auto asked = question(dice);
      const bool may = rules->may_be_allowed(asked.request.who, asked.request.what.index());
      (may ? offered : hidden) += 1;
      if (!may) {
        ASSERT_EQ(judged(*rules, asked).effect, Effect::deny);
      }
    }
  }
  EXPECT_GT(hidden, kRounds);
  EXPECT_GT(offered, kRounds);
}

}  // namespace
}  // namespace policy
