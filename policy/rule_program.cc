#include "policy/rule_program.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "policy/builtin.h"

namespace policy {
namespace {

std::string code_of(Effect effect) {
  switch (effect) {
    case Effect::allow:
      return "allow";
    case Effect::ask:
      return "ask";
    case Effect::deny:
      return "deny.rule";
  }
  return {};
}

void lower(std::optional<std::chrono::seconds>& bound, const std::optional<std::chrono::seconds>& to) {
  if (to && (!bound || *to < *bound)) bound = to;
}

void name_gaps(const Gaps& gaps, std::vector<std::string>& names) {
  if (gaps.facts.none() && gaps.named.empty()) return;
  for (const auto& info : fact_table()) {
    if (gaps.facts.test(static_cast<std::size_t>(info.fact))) names.emplace_back(info.name);
  }
  for (const auto name : gaps.named) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// Room for most reasons: one that is put together part by part would move several times.
constexpr std::size_t kReason = 160;

// Rules that are looked at to say what would have allowed a call.
constexpr std::size_t kMaxNear = 8;

template <class... Parts>
void append(std::string& text, const Parts&... parts) {
  (text.append(parts), ...);
}

// Every rule that asks must be content with the answer.
void add_people(std::string_view people, std::string& all) {
  for (std::size_t at = 0; at <= all.size();) {
    const auto end = std::min(all.find('+', at), all.size());
    if (std::string_view(all).substr(at, end - at) == people) return;
    at = end + 1;
  }
  if (!all.empty()) all += '+';
  all += people;
}

// Whether something holds of a rule without the labels that lower tiers set too. Else they could have a
// higher tier say for them what they may not say themselves.
template <class Holds>
bool of_itself(const Rule& rule, const Question& question, Holds holds) {
  const auto& sandbox = question.request.sandbox;
  const auto lower = [&](const auto& label) { return label.second > rule.tier; };
  if (!sandbox || std::none_of(sandbox->labels.begin(), sandbox->labels.end(), lower)) return true;
  auto request = question.request;
  std::erase_if(request.sandbox->labels, lower);
  return holds(Question{request, question.settings, question.withheld});
}

// Whose word it is what a rule that speaks says: the lowest tier's where it would not without their labels.
Tier word_of(const Rule& rule, const Question& question) {
  const bool own = of_itself(rule, question, [&](const Question& bare) {
    Gaps gaps;
    return matches(rule, bare, gaps);
  });
  return own ? rule.tier : Tier::session;
}

// Whether the first half of something goes on because the rule may ask about the second.
bool waits(const Rule& rule, const Question& question) {
  return may_ask_later(rule, question) &&
         of_itself(rule, question, [&](const Question& bare) { return may_ask_later(rule, bare); });
}

// The rules that speak on a question. The first of each effect is the one named; rules come in the order of
// tiers and ids.
struct Spoken {
  const Rule* deny = nullptr;
  const Rule* ask = nullptr;
  const Rule* allow = nullptr;
  std::array<bool, kTierCount> heard{};           // tiers of which a rule spoke
  std::array<const Rule*, kTierCount> waiting{};  // of each tier the first that may ask about what follows

  void hear(const Rule& rule, const Question& question) {
    // Where it speaks for a lower tier it narrows what others of its tier let through, and lets nothing
    // through.
    const bool own = rule.effect != Effect::ask || word_of(rule, question) == rule.tier;
    if (own) heard[static_cast<std::size_t>(rule.tier)] = true;
    const Rule*& first = rule.effect == Effect::deny ? deny : rule.effect == Effect::ask ? ask : allow;
    if (first == nullptr) first = &rule;
  }
  void wait(const Rule& rule) {
    const Rule*& first = waiting[static_cast<std::size_t>(rule.tier)];
    if (first == nullptr) first = &rule;
  }
  // The rule that waits where nothing else of its tier lets the first half go on.
  const Rule* waits_for(std::span<const TierStance> tiers) const {
    for (const auto& tier : tiers) {
      const auto at = static_cast<std::size_t>(tier.tier);
      if (!heard[at] && waiting[at] != nullptr && (!tier.inherit || allow == nullptr)) return waiting[at];
    }
    return nullptr;
  }
};

// What they come to together.
void conclude(const Spoken& spoken, std::span<const TierStance> tiers, Ruling& ruling) {
  const auto silent = std::find_if(tiers.begin(), tiers.end(), [&](const TierStance& tier) {
    const auto at = static_cast<std::size_t>(tier.tier);
    return !tier.inherit && !spoken.heard[at] && spoken.waiting[at] == nullptr;
  });
  if (spoken.deny == nullptr && silent != tiers.end()) {
    ruling.silent = &*silent;
    return;
  }
  if (spoken.deny != nullptr || spoken.ask != nullptr) {
    ruling.rule = spoken.deny != nullptr ? spoken.deny : spoken.ask;
    ruling.effect = ruling.rule->effect;
    return;
  }
  const auto* later = spoken.waits_for(tiers);
  ruling.rule = later != nullptr ? later : spoken.allow;
  if (ruling.rule != nullptr) ruling.effect = Effect::allow;
}

// Whether a rule would lower what is asked further than it is lowered already.
bool lowers(const Rule& rule, const Action& what, const Clamp& clamp) {
  const auto below = [](const std::optional<std::chrono::seconds>& bound, std::chrono::seconds asked,
                        const std::optional<std::chrono::seconds>& already) {
    return bound && *bound < std::min(asked, already.value_or(asked));
  };
  if (const auto* run = std::get_if<Run>(&what))
    return below(rule.clamp.timeout, run->timeout, clamp.timeout);
  if (const auto* extend = std::get_if<Extend>(&what)) return below(rule.clamp.by, extend->by, clamp.by);
  return false;
}

}  // namespace

RuleProgram::RuleProgram(RuleSet set) : set_(std::move(set)) {
  const auto order = [](const auto& a, const auto& b) {
    return std::tie(a.tier, a.ref.id, a.ref.where) < std::tie(b.tier, b.ref.id, b.ref.where);
  };
  const auto shadows =
      std::partition(set_.rules.begin(), set_.rules.end(), [](const Rule& rule) { return !rule.shadow; });
  shadows_.assign(std::make_move_iterator(shadows), std::make_move_iterator(set_.rules.end()));
  set_.rules.erase(shadows, set_.rules.end());
  std::sort(set_.rules.begin(), set_.rules.end(), order);
  std::sort(shadows_.begin(), shadows_.end(), order);
  std::sort(set_.vmrun.begin(), set_.vmrun.end(), order);
  std::sort(set_.tiers.begin(), set_.tiers.end(),
            [](const TierStance& a, const TierStance& b) { return a.tier < b.tier; });
  std::array<std::vector<std::uint32_t>, std::variant_size_v<Action>> members;
  for (std::uint32_t i = 0; i < set_.rules.size(); ++i) {
    for (std::size_t action = 0; action < members.size(); ++action) {
      if (set_.rules[i].actions.test(action)) members[action].push_back(i);
    }
  }
  for (std::size_t action = 0; action < members.size(); ++action) {
    const auto same =
        std::find(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(action), members[action]);
    const auto first = static_cast<std::size_t>(same - members.begin());
    chapter_of_[action] = first == action ? chapters_.size() : chapter_of_[first];
    if (first != action) continue;
    auto& made = chapters_.emplace_back(Chapter{RuleIndex(set_.rules, members[action]), {}});
    for (const auto index : members[action]) {
      const auto& rule = set_.rules[index];
      auto& allow = made.first_allow[static_cast<std::size_t>(rule.tier)];
      if (rule.effect == Effect::allow && allow == nullptr) allow = &rule;
    }
  }
}

Judgement RuleProgram::judge(Request& request, const Facts& settings) const {
  Clamp clamp;
  auto judgement = judge(Question{request, settings}, clamp);
  if (judgement.effect == Effect::deny) return judgement;
  if (auto* run = std::get_if<Run>(&request.what); run != nullptr && clamp.timeout) {
    run->timeout = std::min(run->timeout, *clamp.timeout);
  }
  if (auto* extend = std::get_if<Extend>(&request.what); extend != nullptr && clamp.by) {
    extend->by = std::min(extend->by, *clamp.by);
  }
  return judgement;
}

Ruling RuleProgram::rule_on(const Question& question, Scratch& scratch) const {
  scratch.matched.clear();
  scratch.waived.clear();
  scratch.waiting.clear();
  scratch.gaps.facts.reset();
  scratch.gaps.named.clear();
  chapter(question).index.candidates(question, scratch.search);

  Ruling ruling;
  Spoken spoken;
  for (const auto index : scratch.search.found) {
    const auto& rule = set_.rules[index];
    const Waiver* waiver = nullptr;
    scratch.gaps.later = false;
    if (!matches(rule, question, scratch.gaps, &waiver)) {
      if (waiver != nullptr) scratch.waived.push_back(waiver);
      if (scratch.gaps.later && waits(rule, question)) {
        spoken.wait(rule);
        scratch.waiting.push_back(&rule);
      }
      continue;
    }
    spoken.hear(rule, question);
    scratch.matched.push_back(&rule);
    if (rule.effect == Effect::deny) continue;
    lower(ruling.clamp.timeout, rule.clamp.timeout);
    lower(ruling.clamp.by, rule.clamp.by);
  }
  conclude(spoken, set_.tiers, ruling);
  return ruling;
}

Judgement RuleProgram::judge(const Question& question, Clamp& clamp) const {
  if (auto granted = builtin_grant(question.request)) return std::move(*granted);
  const bool host_known = !question.withheld.test(static_cast<std::size_t>(Fact::host));
  if (auto refused = host_known ? builtin_web(question.request) : std::nullopt) return std::move(*refused);
  if (const auto* vmrun = std::get_if<Vmrun>(&question.request.what)) return judge_vmrun(*vmrun);

  Scratch scratch;
  Ruling ruling;
  auto judgement = judge_by_rules(question, clamp, scratch, ruling);
  if (!shadows_.empty()) judgement.shadow = judge_shadows(question, scratch, ruling, judgement);
  return judgement;
}

Judgement RuleProgram::judge_by_rules(const Question& question, Clamp& clamp, Scratch& scratch,
                                      Ruling& ruling) const {
  ruling = rule_on(question, scratch);
  clamp = ruling.clamp;
  Judgement judgement;
  judgement.matched.reserve(scratch.matched.size());
  for (const auto* rule : scratch.matched) judgement.matched.push_back(rule->ref);
  if (ruling.rule != nullptr && ruling.rule->effect != ruling.effect) {
    judgement.waits = true;
    judgement.matched.push_back(ruling.rule->ref);
  }
  for (const auto* waiver : scratch.waived) judgement.waivers.push_back(waiver->terms.ref);
  name_gaps(scratch.gaps, judgement.unknown);
  if (ruling.rule == nullptr) {
    explain_default(question, ruling.silent, scratch, judgement);
    return judgement;
  }
  const auto& speaker = *ruling.rule;
  if (speaker.effect != Effect::deny) {
    for (const auto* rule : scratch.matched) {
      if (rule->labels.empty() && rule->injects.empty()) continue;
      // What will be asked again puts its labels then.
      if (rule->effect == Effect::allow && !speaks_for_certain(*rule, question)) continue;
      for (const auto& secret : rule->injects) {
        if (may_go(*secret, question)) add_injection(judgement.injections, *secret);
      }
      if (rule->labels.empty()) continue;
      const auto tier = word_of(*rule, question);
      for (const auto& label : rule->labels) add_labels(judgement.labels, {{label, tier}});
    }
  }
  judgement.effect = ruling.effect;
  judgement.code = code_of(ruling.effect);
  judgement.rule = speaker.ref;
  judgement.reason = speaker.why;
  judgement.hint = speaker.hint;
  if (judgement.effect == Effect::ask) {
    judgement.ask_within = speaker.ask_within;
    for (const auto* rule : scratch.matched) {
      if (rule->effect != Effect::ask) continue;
      add_people(rule->ask_who, judgement.ask_who);
      judgement.ask_within = std::min(judgement.ask_within, rule->ask_within);
    }
  }
  if (judgement.reason.empty() && judgement.effect == Effect::deny) {
    judgement.reason =
        "rule `" + speaker.ref.id + "` refuses `" + std::string(name_of(question.request.what)) + "`";
  }
  return judgement;
}

std::vector<ShadowRuling> RuleProgram::judge_shadows(const Question& question, const Scratch& scratch,
                                                     const Ruling& ruling, const Judgement& judgement) const {
  Spoken spoken;
  for (const auto* rule : scratch.matched) spoken.hear(*rule, question);
  for (const auto* rule : scratch.waiting) spoken.wait(*rule);
  std::vector<ShadowRuling> all;
  for (const auto& rule : shadows_) {
    Gaps gaps;
    if (!rule.actions.test(question.request.what.index()) || !matches(rule, question, gaps)) continue;
    auto with = spoken;
    with.hear(rule, question);
    Ruling then;
    conclude(with, set_.tiers, then);
    bool differs = then.effect != ruling.effect;
    if (!differs && then.effect != Effect::deny) differs = lowers(rule, question.request.what, ruling.clamp);
    if (!differs && then.effect == Effect::ask && rule.effect == Effect::ask) {
      auto people = judgement.ask_who;
      add_people(rule.ask_who, people);
      differs = people != judgement.ask_who || rule.ask_within < judgement.ask_within;
    }
    all.push_back({rule.ref, rule.effect, differs});
  }
  return all;
}

std::vector<WaiverTerms> RuleProgram::waivers() const {
  std::vector<WaiverTerms> all;
  for (const auto* rules : {&set_.rules, &shadows_}) {
    for (const auto& rule : *rules) {
      for (const auto& waiver : rule.waivers) all.push_back(waiver.terms);
    }
  }
  return all;
}

std::vector<ShadowRule> RuleProgram::shadow_rules() const {
  std::vector<ShadowRule> all;
  for (const auto& rule : shadows_) all.push_back({rule.ref, rule.effect, rule.actions});
  return all;
}

std::vector<Rule> RuleProgram::take_rules() && {
  auto rules = std::move(set_.rules);
  rules.insert(rules.end(), std::make_move_iterator(shadows_.begin()),
               std::make_move_iterator(shadows_.end()));
  return rules;
}

bool RuleProgram::is_one_of(const Subject& who, std::string_view people) const {
  const auto described = set_.people.find(people);
  if (described == set_.people.end()) return false;
  const Request request{who, std::nullopt, List{}, Correlation{CallId::random(), {}, std::nullopt}};
  const Facts nothing;
  Gaps gaps;
  return evaluate(Condition{described->second}, Question{request, nothing, {}}, Tri::unknown, gaps) ==
         Tri::yes;
}

const Rule* RuleProgram::nearest_allow(const Question& question, Tier tier, const Scratch& scratch) const {
  const Rule* nearest = nullptr;
  std::size_t fewest = 0, looked_at = 0;
  for (const auto index : scratch.search.found) {
    const auto& rule = set_.rules[index];
    if (rule.tier != tier || rule.effect != Effect::allow) continue;
    if (++looked_at > kMaxNear) break;
    const auto lacking = unmet(rule, question).size();
    if (nearest != nullptr && lacking >= fewest) continue;
    nearest = &rule;
    fewest = lacking;
  }
  return nearest != nullptr ? nearest : chapter(question).first_allow[static_cast<std::size_t>(tier)];
}

void RuleProgram::explain_default(const Question& question, const TierStance* silent, const Scratch& scratch,
                                  Judgement& judgement) const {
  const auto action = name_of(question.request.what);
  auto& reason = judgement.reason;
  reason.reserve(kReason);
  judgement.effect = Effect::deny;
  judgement.code = "deny.default";
  judgement.rule =
      RuleRef{"default", silent != nullptr ? std::string(spelling(silent->tier)) : "builtin", ""};
  if (silent == nullptr) {
    append(reason, "no rule allows `", action, "`");
    return;
  }
  append(reason, "no rule of `", silent->name, "` allows `", action, "`");
  const auto* rule = nearest_allow(question, silent->tier, scratch);
  if (rule == nullptr) return;
  append(reason, " as it is; rule `", rule->ref.id, "` would, but for ");
  bool first = true;
  for (const auto name : unmet(*rule, question)) {
    append(reason, first ? "`" : ", `", name, "`");
    first = false;
  }
  judgement.hint = rule->hint;
}

Judgement RuleProgram::judge_vmrun(const Vmrun& vmrun) const {
  auto judgement = builtin_vmrun(vmrun);
  if (judgement.effect == Effect::deny) return judgement;
  for (const auto& refusal : set_.vmrun) {
    if (std::find(refusal.verbs.begin(), refusal.verbs.end(), vmrun.verb) == refusal.verbs.end()) continue;
    judgement.matched.push_back(refusal.ref);
    if (judgement.effect == Effect::deny) continue;
    judgement.effect = Effect::deny;
    judgement.code = "deny.rule";
    judgement.rule = refusal.ref;
    judgement.reason = refusal.why.empty() ? "rule `" + refusal.ref.id + "` refuses `" +
                                                 std::string(spelling(vmrun.verb)) + "`"
                                           : refusal.why;
    judgement.hint = refusal.hint;
  }
  return judgement;
}

}  // namespace policy
