// The program asks only rules that may speak. These tests compare it with asking all of them, on random rules
// of every kind and questions with facts missing.
#include "policy/rule_index.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "policy/builtin.h"
#include "policy/rule_program.h"
#include "tests/policy/dice.h"
#include "tests/policy/judgements.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;
using Words = std::vector<std::string>;

const Words kPatterns{"**",        "*",       "a",    "a/**", "a/b",    "**/.env", "**/*.txt",
                      "a/*/c",     "**/b/**", "b*",   "*b",   "?",      "a/b*d",   "**/a/*",
                      "a/**/b/**", ".x/**",   "*/*",  "*a*",  "b*/*.c", "**/?.??", "ab*ba",
                      "a/.env",    "x/y/z",   "**/z", "x*",   "*.txt/a"};
const Words kPaths{".",   "a",       "a/b",    "a/b/c", ".env",    "a/.env", "b",
                   "bd",  "a/bd",    "x/y/z",  "x.txt", "a/x.txt", ".x/.y",  "a/.x/c",
                   "aba", "b/a/b/a", "bx/q.c", "a/a/a", "x.txt/a", "a.bc"};

Condition condition(Dice& dice, int depth);

std::vector<Condition> conditions(Dice& dice, int depth, std::size_t least) {
  std::vector<Condition> parts;
  for (auto n = least + dice.below(3); n > 0; --n) parts.push_back(condition(dice, depth));
  return parts;
}

Condition subject(Dice& dice) {
  NamedSubject is;
  is.name = "s";
  if (dice.chance(40)) is.transports = dice.some<Transport>({Transport::stdio, Transport::cli}, 2);
  if (dice.chance(50)) is.os_users = dice.some<std::string>({"alice", "bob", "eve"}, 2);
  if (dice.chance(30)) is.uids = dice.some<std::uint32_t>({0, 9, 1000}, 2);
  if (dice.chance(20)) is.clients = dice.some<std::string>({"some-agent", "other"}, 1);
  return {SubjectIs{std::make_shared<NamedSubject>(std::move(is))}};
}

Condition path(Dice& dice) {
  PathLike like{dice.one<Fact>({Fact::host_path, Fact::host_path, Fact::guest_path}), {}, {}};
  like.dotfiles = dice.one<Dotfiles>({Dotfiles::included, Dotfiles::only_if_written});
  for (const auto& text : dice.some(kPatterns, 3)) like.patterns.push_back(*PathPattern::parse(text));
  return {std::move(like)};
}

Condition setting(Dice& dice) {
  SettingIs is{"settings.web", {dice.chance(50)}};
  if (dice.chance(40)) is = {"settings.max_age", {}, {dice.chance(50) ? 1 : 9000, {}}};
  return {std::move(is)};
}

Condition condition(Dice& dice, int depth) {
  switch (dice.below(depth > 0 ? 13 : 10)) {
    case 0:
    case 1:
    case 2:
      return path(dice);
    case 3:
    case 4:
      return {AnyOf{{subject(dice), subject(dice)}}};
    case 5:
      return {WordIs{dice.one<Fact>({Fact::network, Fact::sandbox_network, Fact::cause, Fact::button}),
                     dice.some<std::string>({"none", "web", "nat", "asked", "left"}, 3)}};
    case 6:
      return {WordIs{dice.one<Fact>({Fact::command, Fact::image, Fact::keys, Fact::name}),
                     dice.some<std::string>({"make", "default", "deb", "ctrl+c"}, 2)}};
    case 7:
      return {TextLike{dice.one<Fact>({Fact::command, Fact::keys, Fact::image}), dice.some(kPatterns, 2)}};
    case 8:
      return {NumberIs{dice.one<Fact>({Fact::bytes, Fact::files, Fact::timeout, Fact::by, Fact::sandbox_age}),
                       {{dice.chance(50) ? std::optional<std::int64_t>(2) : std::nullopt,
                         dice.chance(50) ? std::optional<std::int64_t>(50) : std::nullopt}}}};
    case 9:
      if (dice.chance(50)) return setting(dice);
      return {LabelsHave{dice.some<std::string>({"p", "q"}, 2),
                         dice.one<LabelsHave::How>({LabelsHave::How::any, LabelsHave::How::all})}};
    case 10:
      return {NotThis{{condition(dice, depth - 1)}}};
    case 11:
      return {AnyOf{conditions(dice, depth - 1, 0)}};
    default:
      return {AllOf{conditions(dice, depth - 1, 1)}};
  }
}

Rule rule(Dice& dice, Tier tier, std::size_t number) {
  Rule made;
  // Ids repeat here and there, places never.
  made.ref = {"r" + std::to_string(dice.below(50)), std::string(spelling(tier)), std::to_string(number)};
  made.tier = tier;
  made.effect = dice.one<Effect>({Effect::allow, Effect::allow, Effect::ask, Effect::deny});
  made.actions =
      action_word(dice.one<std::string_view>({"copy_in", "copy_out", "any", "create", "run"}))->actions;
  if (dice.chance(50))
    made.actions |= action_word(dice.one<std::string_view>({"destroy", "copy_in"}))->actions;
  AllOf all{conditions(dice, 2, 0)};
  if (dice.chance(60)) all.parts.push_back({AnyOf{{subject(dice)}}});
  made.when = {std::move(all)};
  if (dice.chance(30)) made.unless = condition(dice, 2);
  if (dice.chance(50)) made.why = "why" + std::to_string(number);
  if (dice.chance(50)) made.hint = "hint" + std::to_string(number);
  if (made.effect == Effect::ask) made.ask_who = "user";
  if (made.effect != Effect::deny && dice.chance(30))
    made.clamp.timeout = std::chrono::seconds(dice.below(9));
  if (made.effect != Effect::deny && dice.chance(30)) made.clamp.by = std::chrono::seconds(dice.below(9));
  return made;
}

RuleSet rule_set(Dice& dice) {
  RuleSet set;
  std::size_t number = 0;
  for (const auto tier : {Tier::org, Tier::user, Tier::project}) {
    if (tier != Tier::user && dice.chance(60)) continue;
    set.tiers.push_back(
        {tier, "tier-" + std::string(spelling(tier)), tier == Tier::project && dice.chance(50)});
    for (auto n = dice.below(20); n > 0; --n) set.rules.push_back(rule(dice, tier, number++));
  }
  dice.shuffle(set.rules);
  return set;
}

struct Asked {
  Request request;
  Facts settings = known_settings();
  std::bitset<kFacts> withheld = {};
  Question question() const { return {request, settings, withheld}; }
};

Action action(Dice& dice) {
  const auto at = host(dice.one(kPaths));
  const auto in = guest("/" + dice.one<std::string>({"", "a", "a/b", "x/y/z", "a/.env", "b/a/b"}));
  const auto found = survey(dice.below(100), dice.below(100));
  switch (dice.below(8)) {
    case 0:
    case 1:
      return CopyIn{box(), at, in, found};
    case 2:
      return FetchOut{box(), in, at};
    case 3:
      return PublishOut{box(), in, at, found};
    case 4:
      return Create{dice.one<Network>({Network::none, Network::web, Network::nat}),
                    dice.one<std::string>({"", "deb"})};
    case 5:
      return Run{box(), dice.one<std::string>({"make", "aba", "x"}), std::chrono::seconds(dice.below(99))};
    case 6:
      return Destroy{box(), dice.one<DestroyCause>({DestroyCause::asked, DestroyCause::expired})};
    default:
      return dice.one<Action>({Action(List{}), Action(Click{box()}), Action(PressKey{box(), "ctrl+c"}),
                               Action(KillSwitch{}), Action(BuildImage{"deb"}),
                               Action(Extend{box(), std::chrono::seconds(3)})});
  }
}

Asked question(Dice& dice) {
  auto who = agent();
  who.transport = dice.one<Transport>({Transport::stdio, Transport::cli, Transport::http, Transport::system});
  who.os_user = dice.one<std::string>({"alice", "alice", "bob", "carol", ""});
  who.client_name = dice.one<std::string>({"some-agent", "other", ""});
  if (dice.chance(20)) who.uid.reset();
  Asked asked{ask(action(dice), who)};
  if (auto& sandbox = asked.request.sandbox; sandbox) {
    if (dice.chance(50)) sandbox->labels.emplace("p", dice.one<Tier>({Tier::org, Tier::project}));
    if (dice.chance(50)) sandbox->labels.emplace("q", dice.one<Tier>({Tier::org, Tier::project}));
    sandbox->network = dice.one<Network>({Network::none, Network::web});
    if (dice.chance(10)) sandbox.reset();
  }
  asked.settings["web"] = dice.chance(50);
  if (dice.chance(10)) asked.settings.erase("web");
  if (dice.chance(10)) asked.settings["web"] = std::string("perhaps");
  const int blind = dice.one<int>({0, 0, 10, 50});
  for (std::size_t fact = 0; fact < kFacts; ++fact) asked.withheld.set(fact, dice.chance(blind));
  return asked;
}

// The same without the labels that tiers below the rule's put.
Asked without_lower_labels(const Rule& rule, Asked asked) {
  if (asked.request.sandbox) {
    std::erase_if(asked.request.sandbox->labels, [&](const auto& label) { return label.second > rule.tier; });
  }
  return asked;
}

bool speaks_for_itself(const Rule& rule, const Asked& asked) {
  Gaps gaps;
  const auto bare = without_lower_labels(rule, asked);
  return matches(rule, bare.question(), gaps);
}

// Whether it asks, and is silent only because something is known later.
bool waits(const Rule& rule, const Asked& asked) {
  if (rule.effect != Effect::ask) return false;
  Gaps gaps;
  for (const auto& one : {asked, without_lower_labels(rule, asked)}) {
    const auto question = one.question();
    if (evaluate(rule.when, question, Tri::yes, gaps) != Tri::yes) return false;
    if (rule.unless && evaluate(*rule.unless, question, Tri::no, gaps) != Tri::no) return false;
  }
  return true;
}

// What the documents say of rules, tiers and silence, asking every rule.
Judgement by_hand(const RuleProgram& program, const std::vector<TierStance>& tiers, const Asked& asked,
                  Clamp& clamp, const Judgement& said) {
  const auto question = asked.question();
  if (auto granted = builtin_grant(asked.request)) return *granted;
  Judgement says;
  Gaps gaps;
  std::set<Tier> spoke;
  const Rule* speaker = nullptr;
  std::map<Tier, const Rule*> waiting;  // the first of each tier
  for (const auto& rule : program.rules()) {
    if (!rule.actions.test(asked.request.what.index())) continue;
    if (!matches(rule, question, gaps)) {
      if (waits(rule, asked)) waiting.emplace(rule.tier, &rule);
      continue;
    }
    says.matched.push_back(rule.ref);
    if (rule.effect != Effect::ask || speaks_for_itself(rule, asked)) spoke.insert(rule.tier);
    if (speaker == nullptr || rule.effect > speaker->effect) speaker = &rule;
    if (rule.effect == Effect::deny) continue;
    if (rule.clamp.timeout)
      clamp.timeout = std::min(*rule.clamp.timeout, clamp.timeout.value_or(*rule.clamp.timeout));
    if (rule.clamp.by) clamp.by = std::min(*rule.clamp.by, clamp.by.value_or(*rule.clamp.by));
  }
  std::set<std::string> unknown(gaps.named.begin(), gaps.named.end());
  for (const auto& info : fact_table()) {
    if (gaps.facts.test(static_cast<std::size_t>(info.fact))) unknown.emplace(info.name);
  }
  says.unknown.assign(unknown.begin(), unknown.end());

  const std::string act(name_of(asked.request.what));
  const auto silent = std::find_if(tiers.begin(), tiers.end(), [&](const TierStance& tier) {
    return !tier.inherit && !spoke.contains(tier.tier) && !waiting.contains(tier.tier);
  });
  const bool refused = speaker != nullptr && speaker->effect == Effect::deny;
  if (!refused && ((speaker == nullptr && waiting.empty()) || silent != tiers.end())) {
    says.code = "deny.default";
    says.rule = {"default", "builtin", ""};
    says.reason = "no rule allows `" + act + "`";
    if (silent == tiers.end()) return says;
    says.rule.tier = spelling(silent->tier);
    says.reason = "no rule of `" + silent->name + "` allows `" + act + "`";
    // Which rule is named is left to the program, so long as what it says of that rule is true.
    const auto reason = says.reason;
    for (const auto& rule : program.rules()) {
      if (rule.tier != silent->tier || rule.effect != Effect::allow) continue;
      if (!rule.actions.test(asked.request.what.index())) continue;
      std::string names;
      for (const auto name : unmet(rule, question))
        names += (names.empty() ? "`" : ", `") + std::string(name) + "`";
      says.reason = reason + " as it is; rule `" + rule.ref.id + "` would, but for " + names;
      says.hint = rule.hint;
      if (says.reason == said.reason && says.hint == said.hint) break;
    }
    return says;
  }
  for (const auto& [tier, rule] : waiting) {
    if (spoke.contains(tier) || (speaker != nullptr && speaker->effect != Effect::allow)) continue;
    const auto stance =
        std::find_if(tiers.begin(), tiers.end(), [&](const auto& one) { return one.tier == tier; });
    if (stance->inherit && speaker != nullptr) continue;
    says.effect = Effect::allow;
    says.code = "allow";
    says.rule = rule->ref;
    says.reason = rule->why;
    says.hint = rule->hint;
    says.matched.push_back(rule->ref);
    return says;
  }
  says.effect = speaker->effect;
  says.code = refused ? "deny.rule" : std::string(spelling(speaker->effect));
  says.rule = speaker->ref;
  says.reason = speaker->why;
  if (refused && says.reason.empty()) says.reason = "rule `" + speaker->ref.id + "` refuses `" + act + "`";
  says.hint = speaker->hint;
  says.ask_who = speaker->ask_who;
  says.ask_within = speaker->ask_within;
  return says;
}

TEST(PolicyIndex, JudgesAsIfEveryRuleWereAsked) {
  Dice dice(11);
  std::set<std::string> codes;
  std::size_t with_gaps = 0;
  for (int round = 0; round < 150; ++round) {
    auto set = rule_set(dice);
    const auto tiers = set.tiers;
    const RuleProgram program(std::move(set));
    for (int i = 0; i < 60; ++i) {
      const auto asked = question(dice);
      Clamp clamp, expected_clamp;
      const auto says = program.judge(asked.question(), clamp);
      const auto expected = by_hand(program, tiers, asked, expected_clamp, says);
      ASSERT_NO_FATAL_FAILURE(expect_same(says, expected));
      ASSERT_EQ(clamp.timeout, expected_clamp.timeout);
      ASSERT_EQ(clamp.by, expected_clamp.by);
      codes.insert(says.code);
      with_gaps += says.unknown.empty() ? 0 : 1;
    }
  }
  // The dice must not have made it easy.
  EXPECT_EQ(codes, (std::set<std::string>{"allow", "ask", "deny.rule", "deny.default"}));
  EXPECT_GT(with_gaps, 750U);
}

TEST(PolicyIndex, LeavesOutOnlyRulesThatAnswerNo) {
  Dice dice(12);
  std::size_t candidates = 0, rules = 0;
  for (int round = 0; round < 80; ++round) {
    const auto set = rule_set(dice);
    std::vector<std::uint32_t> members(set.rules.size());
    std::iota(members.begin(), members.end(), 0U);
    const RuleIndex index(set.rules, members);
    RuleIndex::Search search;
    for (int i = 0; i < 60; ++i) {
      const auto asked = question(dice);
      index.candidates(asked.question(), search);
      ASSERT_TRUE(std::is_sorted(search.found.begin(), search.found.end()));
      ASSERT_EQ(std::adjacent_find(search.found.begin(), search.found.end()), search.found.end());
      for (const auto member : members) {
        if (std::binary_search(search.found.begin(), search.found.end(), member)) continue;
        Gaps gaps;
        for (const auto later : {Tri::no, Tri::unknown, Tri::yes}) {
          ASSERT_EQ(evaluate(set.rules[member].when, asked.question(), later, gaps), Tri::no);
        }
      }
      candidates += search.found.size();
      rules += members.size();
    }
  }
  // It must leave out a good part of rules as wild as these, or it would be no index.
  EXPECT_LT(candidates * 5, rules * 4);
}

// Rules that differ in one thing.
std::vector<std::uint32_t> found_among(std::size_t count,
                                       const std::function<Condition(std::size_t)>& differing,
                                       const Asked& asked) {
  std::vector<Rule> rules(count);
  std::vector<std::uint32_t> members(count);
  std::iota(members.begin(), members.end(), 0U);
  const auto named = [](NamedSubject is) { return SubjectIs{std::make_shared<NamedSubject>(std::move(is))}; };
  const auto alice = named({"alice", {}, {"alice"}, {}, {}});
  for (std::size_t i = 0; i < count; ++i) {
    rules[i].when = {AllOf{{Condition{AnyOf{{Condition{alice}}}}, differing(i)}}};
  }
  RuleIndex::Search search;
  RuleIndex(rules, members).candidates(asked.question(), search);
  return search.found;
}

Condition like(const std::string& pattern) {
  return {PathLike{Fact::host_path, {*PathPattern::parse(pattern)}, Dotfiles::included}};
}

TEST(PolicyIndex, FindsARuleByWhatTellsItFromTheOthers) {
  const Asked copy{ask(CopyIn{box(), host("team/job77.log"), guest("/tmp"), survey(1, 1)})};
  const std::vector<std::uint32_t> one{77};
  const std::vector<std::function<std::string(std::string)>> patterns{
      [](const std::string& n) { return "team/job" + n + ".log"; },
      [](const std::string& n) { return "team/job" + n + ".*"; },
      [](const std::string& n) { return "**/*b" + n + ".log"; },
      [](const std::string& n) { return "*/job" + n + "?log"; },
  };
  for (const auto& pattern : patterns) {
    EXPECT_EQ(found_among(
                  10'000, [&](std::size_t i) { return like(pattern(std::to_string(i))); }, copy),
              one)
        << pattern("77");
  }
  const Asked make{ask(policy::Run{box(), "make 77", std::chrono::seconds(1)})};
  const auto command = [](std::size_t i) {
    return Condition{WordIs{Fact::command, {"make " + std::to_string(i)}}};
  };
  EXPECT_EQ(found_among(2000, command, make), one);
  const auto user = [](std::size_t i) {
    return Condition{SubjectIs{std::make_shared<NamedSubject>(
        NamedSubject{"s", {}, {}, {static_cast<std::uint32_t>(923 + i)}, {}})}};
  };
  EXPECT_EQ(found_among(2000, user, make), one);
}

TEST(PolicyIndex, MakesEveryRuleACandidateWhenItsFactIsMissing) {
  Asked copy{ask(CopyIn{box(), host("team/job77.log"), guest("/tmp"), survey(1, 1)})};
  copy.withheld.set(static_cast<std::size_t>(Fact::host_path));
  EXPECT_EQ(
      found_among(100, [](std::size_t i) { return like("a/" + std::to_string(i)); }, copy).size(), 100U);
}

TEST(PolicyIndex, NamesNoMissingFactOfARuleThatCouldNotSpeak) {
  RuleSet set;
  set.tiers.push_back({Tier::user, "user", false});
  Rule rule;
  rule.ref.id = "r";
  rule.effect = Effect::allow;
  rule.actions = action_word("copy_in")->actions;
  rule.when = {AllOf{{Condition{NumberIs{Fact::bytes, {{{}, 1}}}}, like("a/**")}}};
  set.rules.push_back(rule);
  const RuleProgram program(std::move(set));
  Asked asked{ask(CopyIn{box(), host("b"), guest("/tmp"), survey(1, 1)})};
  asked.withheld.set(static_cast<std::size_t>(Fact::bytes));
  Clamp clamp;
  EXPECT_EQ(program.judge(asked.question(), clamp).unknown, Words{});
  asked.request.what = CopyIn{box(), host("a/b"), guest("/tmp"), survey(1, 1)};
  EXPECT_EQ(program.judge(asked.question(), clamp).unknown, Words{"bytes"});
}

}  // namespace
}  // namespace policy
