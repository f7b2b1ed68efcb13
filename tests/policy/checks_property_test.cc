// What a check says is certainly so: on random policies, a rule that is said to be of no use is taken out,
// and no question gets another answer. Patterns are compared by trying all short texts.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policy/checks.h"
#include "policy/glob_relation.h"
#include "tests/policy/dice.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

std::string condition(Dice& dice, int depth) {
  switch (dice.below(depth > 0 ? 12 : 9)) {
    case 0:
    case 1:
      return "host_path: \"transfer:" +
             dice.one<std::string>({"**", "a/**", "**/.env", "*", "$secret", "a/?", "a/b", "**/b", "*/*"}) +
             "\"";
    case 2:
      return "host_path: { not: \"transfer:" + dice.one<std::string>({"**/.env", "b", "a/**"}) + "\" }";
    case 3:
      return "guest_path: [\"" + dice.one<std::string>({"/**", "/tmp/**", "/tmp", "/tmp/*/x"}) +
             "\", \"/tmp/a\"]";
    case 4:
      return "bytes: { " + dice.one<std::string>({"max: 1B", "max: 1KiB", "min: 1KiB", "min: 2B"}) + " }";
    case 5:
      return "files: { not: { " + dice.one<std::string>({"min: 2", "max: 50", "min: 2, max: 50"}) + " } }";
    case 6:
      return "for: " + dice.one<std::string>({"alice", "terminal", "[alice, terminal]", "nobody", "both"});
    case 7:
      return "when: { settings." +
             dice.one<std::string>({"web: true", "web: false", "max_sandboxes: { min: 3 }"}) + " }";
    case 8:
      return "sandbox: { labels: { " + dice.one<std::string>({"any", "all"}) + ": " +
             dice.one<std::string>({"[p, q]", "[p]", "[q]"}) + " } }";
    case 9:
      return "not: { " + condition(dice, depth - 1) + " }";
    case 10:
      return "any: [ { " + condition(dice, depth - 1) + " }, { " + condition(dice, depth - 1) + " } ]";
    default:
      return "all: [ { " + condition(dice, depth - 1) + " }, { " + condition(dice, depth - 1) + " } ]";
  }
}

struct Written {
  std::string tier, id, text;
};
struct Draft {
  std::map<std::string, std::string> stances;
  std::vector<Written> rules;
};

Draft draft(Dice& dice) {
  Draft made{{{"user", "deny"}}, {}};
  if (dice.chance(50)) made.stances["project"] = dice.chance(50) ? "inherit" : "deny";
  std::size_t number = 0;
  for (const auto& [tier, stance] : made.stances) {
    for (std::size_t n = 1 + dice.below(5); n > 0; --n) {
      const auto id = "r" + std::to_string(number++);
      auto text = "{ " + dice.one<std::string>({"allow", "allow", "allow", "ask", "deny", "deny"}) + ": " +
                  dice.one<std::string>(
                      {"copy_in", "copy_in", "copy_out", "[copy_in, copy_out]", "copy_out.publish"});
      if (dice.chance(85)) text += ", " + condition(dice, 2);
      if (dice.chance(25)) text += ", unless: { " + condition(dice, 1) + " }";
      made.rules.push_back({tier, id, text + " }"});
    }
  }
  return made;
}

std::vector<Source> sources(const Draft& of, const std::set<std::string>& without) {
  std::vector<Source> all;
  for (const auto& [tier, stance] : of.stances) {
    std::string text =
        "sallyport: policy/v1\ntier: " + tier + "\nname: " + tier + "\ndefault: " + stance +
        "\nsets: { secret: { paths: [\"**/.env\", \"a/b\"] } }\n"
        "subjects: { alice: { os_user: alice }, terminal: { transport: cli }, nobody: { uid: 9 }, "
        "both: { os_user: [alice, bob] } }\nactions:\n  none: { deny: list }\n";
    for (const auto& rule : of.rules) {
      if (rule.tier == tier && !without.contains(rule.id)) text += "  " + rule.id + ": " + rule.text + "\n";
    }
    all.push_back({tier, text, {}});
  }
  return all;
}

struct Asked {
  Request request;
  Facts settings;
  std::bitset<kFacts> withheld = {};
};

Asked question(Dice& dice) {
  const auto path =
      host(dice.one<std::string>({".", "a", "a/b", ".env", "a/.env", "b", "a/.x/c", "b/.env", "c/b"}));
  const auto to = guest(dice.one<std::string>({"/", "/tmp", "/tmp/a", "/tmp/b/x", "/etc/.x"}));
  const auto found = survey(dice.one<std::uint64_t>({0, 1, 2, 50, 51}),
                            dice.one<std::uint64_t>({0, 1, 2, 1023, 1024, 1025}));
  Action what = CopyIn{box(), path, to, found};
  if (dice.chance(30)) what = FetchOut{box(), to, path};
  if (dice.chance(40)) what = PublishOut{box(), to, path, found};
  auto who = dice.chance(50) ? agent() : person();
  who.os_user = dice.one<std::string>({"alice", "bob", "eve"});
  if (dice.chance(20)) who.uid = 9;
  Asked asked{ask(std::move(what), who), known_settings()};
  asked.settings["web"] = dice.chance(50);
  asked.settings["max_sandboxes"] = std::int64_t{dice.chance(50) ? 2 : 3};
  if (dice.chance(50))
    asked.request.sandbox->labels.emplace("p", dice.one<Tier>({Tier::org, Tier::user, Tier::session}));
  if (dice.chance(50))
    asked.request.sandbox->labels.emplace("q", dice.one<Tier>({Tier::org, Tier::user, Tier::session}));
  return asked;
}

void forget(Dice& dice, Asked& asked) {
  for (std::size_t fact = 0; fact < kFacts; ++fact) asked.withheld.set(fact, dice.chance(25));
  // Before bytes leave a machine their number is not unknown but not there yet.
  if (std::holds_alternative<FetchOut>(asked.request.what)) {
    asked.withheld.reset(static_cast<std::size_t>(Fact::bytes));
    asked.withheld.reset(static_cast<std::size_t>(Fact::files));
  }
  if (dice.chance(25)) asked.settings.erase("web");
  if (dice.chance(25)) asked.request.who.os_user.clear();
  if (dice.chance(25)) asked.request.who.uid.reset();
}

std::shared_ptr<const RuleProgram> program(const Draft& of, const std::set<std::string>& without = {}) {
  const auto compiled = compile(sources(of, without));
  EXPECT_TRUE(compiled.program) << compiled.error().message;
  return std::dynamic_pointer_cast<const RuleProgram>(compiled.program);
}

Judgement judged(const RuleProgram& by, const Asked& asked) {
  Clamp clamp;
  return by.judge(Question{asked.request, asked.settings, asked.withheld}, clamp);
}

TEST(PolicyChecksProperty, ARuleSaidToBeOfNoUseIsOfNone) {
  Dice dice(11);
  std::map<std::string, int> told;
  for (int round = 0; round < 500; ++round) {
    const auto made = draft(dice);
    const auto whole = program(made);
    ASSERT_TRUE(whole);
    std::set<std::string> useless, only_known;
    for (const auto& found : check_rules(*whole)) {
      const auto from = found.message.find('`') + 1;
      const auto id = found.message.substr(from, found.message.find('`', from) - from);
      ++told[found.code];
      useless.insert(id);
      // What asks for the impossible still refuses where that is not known.
      if (found.message.find("matches no call") != std::string::npos) only_known.insert(id);
    }
    if (useless.empty()) continue;
    std::vector<std::pair<std::set<std::string>, std::shared_ptr<const RuleProgram>>> others;
    for (const auto& id : useless) others.emplace_back(std::set{id}, program(made, {id}));
    others.emplace_back(useless, program(made, useless));
    for (int i = 0; i < 60; ++i) {
      auto asked = question(dice);
      const bool forgotten = dice.chance(50);
      if (forgotten) forget(dice, asked);
      const auto before = judged(*whole, asked);
      for (const auto& [without, other] : others) {
        bool known = false;
        for (const auto& id : without) known = known || only_known.contains(id);
        if (known && forgotten) continue;
        std::string text;
        for (const auto& source : sources(made, {})) text += source.text;
        ASSERT_EQ(before.effect, judged(*other, asked).effect) << *without.begin() << " of\n" << text;
      }
    }
  }
  for (const auto* code : {"P0301", "P0302", "P0303", "P0305"}) EXPECT_GT(told[code], 20) << code;
}

// Where no check says anything of a rule that allows, there often is a call that needs it.
TEST(PolicyChecksProperty, MostOfWhatIsOfNoUseIsFound) {
  Dice dice(12);
  int needed = 0, unneeded = 0, found = 0;
  for (int round = 0; round < 80; ++round) {
    auto made = draft(dice);
    const auto whole = program(made);
    ASSERT_TRUE(whole);
    std::string told = "\n";
    for (const auto& one : check_rules(*whole)) told += one.message + "\n";
    for (const auto& rule : made.rules) {
      if (rule.text.find("allow") == std::string::npos || made.stances[rule.tier] == "inherit") continue;
      const auto other = program(made, {rule.id});
      bool differs = false;
      for (int i = 0; i < 400 && !differs; ++i) {
        const auto asked = question(dice);
        differs = judged(*whole, asked).effect != judged(*other, asked).effect;
      }
      const bool warned = told.find("\nrule `" + rule.id + "` ") != std::string::npos;
      ASSERT_FALSE(differs && warned) << rule.id << told;
      (differs ? needed : unneeded) += 1;
      found += warned ? 1 : 0;
    }
  }
  EXPECT_GT(needed, 30);
  EXPECT_GT(found * 2, unneeded) << found << " of " << unneeded;
}

// All texts of up to `most` of some letters.
std::vector<std::string> texts(const std::string& letters, std::size_t most) {
  std::vector<std::string> all{""};
  for (std::size_t from = 0, length = 0; length < most; ++length) {
    const auto to = all.size();
    for (; from < to; ++from) {
      for (const char c : letters) all.push_back(all[from] + c);
    }
  }
  return all;
}

// The names of a path; nothing when it is none.
std::optional<std::vector<std::string>> names(const std::string& text) {
  std::vector<std::string> all;
  if (text.empty()) return all;
  std::string name;
  for (const char c : text + "/") {
    if (c != '/') {
      name += c;
      continue;
    }
    if (name.empty() || name == "." || name == "..") return std::nullopt;
    all.push_back(std::exchange(name, ""));
  }
  return all;
}

TEST(GlobRelation, AgreesWithMatchingOnEveryShortPath) {
  Dice dice(13);
  const std::vector<std::string> patterns{
      "**", "*",   "a",    "a/**", "**/a",   "*/a",   ".a",   "**/.a", "?",      "a*",  "*a",  "a?", "**/a/*",
      ".*", "*.a", "*/**", "?/?",  "**/*/a", "a*b/*", "**/.", "*a*/a", "a/**/b", "???", "*.*", ".?*"};
  std::vector<std::vector<std::string>> paths;
  for (const auto& text : texts("ab./", 6)) {
    if (auto path = names(text)) paths.push_back(std::move(*path));
  }
  int found = 0, none = 0;
  for (int round = 0; round < 1500; ++round) {
    GlobRelation relation(GlobRelation::Over::paths);
    std::vector<std::pair<PathPattern, Dotfiles>> added;
    std::vector<bool> wished;
    for (std::size_t n = 1 + dice.below(3); n > 0; --n) {
      auto pattern = PathPattern::parse(dice.one(patterns));
      if (!pattern) continue;
      added.emplace_back(*pattern, dice.chance(50) ? Dotfiles::included : Dotfiles::only_if_written);
      relation.add_path(*pattern, added.back().second);
      wished.push_back(dice.chance(60));
    }
    const auto fits = [&](const std::vector<std::string>& path) {
      for (std::size_t i = 0; i < added.size(); ++i) {
        if (added[i].first.matches(path, added[i].second) != wished[i]) return false;
      }
      return true;
    };
    std::size_t steps = 1'000'000;
    std::string text;
    const auto end = relation.find([&](const auto& matched) { return matched == wished; }, steps, text);
    ASSERT_NE(end, GlobRelation::End::too_much);
    std::string asked;
    for (std::size_t i = 0; i < added.size(); ++i)
      asked += added[i].first.text() + (wished[i] ? " yes " : " no ");
    if (end == GlobRelation::End::found) {
      const auto path = names(text);
      ASSERT_TRUE(path) << text;
      ASSERT_TRUE(fits(*path)) << asked << text;
      ++found;
    } else {
      for (const auto& path : paths) ASSERT_FALSE(fits(path)) << asked;
      ++none;
    }
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(none, 100);
}

TEST(GlobRelation, AgreesWithMatchingOnEveryShortText) {
  Dice dice(14);
  const std::vector<std::string> patterns{"*",   "a",  "a*", "*a",    "?",         "a?b",
                                          "*a*", "??", "*?", "a*b*a", "\xC3\xA9*", ""};
  auto all = texts("ab", 7);
  for (const auto& text : texts("a", 3)) all.push_back("\xC3\xA9" + text);
  int none = 0;
  for (int round = 0; round < 1000; ++round) {
    GlobRelation relation(GlobRelation::Over::texts);
    std::vector<std::string> added;
    std::vector<bool> wished;
    for (std::size_t n = 1 + dice.below(4); n > 0; --n) {
      relation.add_text(added.emplace_back(dice.one(patterns)));
      wished.push_back(dice.chance(60));
    }
    const auto fits = [&](const std::string& text) {
      for (std::size_t i = 0; i < added.size(); ++i) {
        if (text_matches(added[i], text) != wished[i]) return false;
      }
      return true;
    };
    std::size_t steps = 1'000'000;
    std::string text;
    const auto end = relation.find([&](const auto& matched) { return matched == wished; }, steps, text);
    if (end == GlobRelation::End::found) {
      ASSERT_TRUE(fits(text)) << text;
    } else {
      ASSERT_EQ(end, GlobRelation::End::none);
      for (const auto& one : all) ASSERT_FALSE(fits(one)) << one;
      ++none;
    }
  }
  EXPECT_GT(none, 100);
}

TEST(GlobRelation, GivesUpInsteadOfTakingLong) {
  GlobRelation relation(GlobRelation::Over::texts);
  for (const auto* pattern : {"*a????????????????????", "*b?????????????????????", "*c?????????????????"}) {
    relation.add_text(pattern);
  }
  std::size_t steps = 100'000;
  std::string text;
  EXPECT_EQ(relation.find([](const auto&) { return false; }, steps, text), GlobRelation::End::too_much);
}

}  // namespace
}  // namespace policy
