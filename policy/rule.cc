#include "policy/rule.h"

#include <algorithm>

namespace policy {
namespace {

// The answer of a fact that will be known when the same thing is asked again: the first half of a copy goes
// on, and no rule speaks on what only the second half can tell.
Tri later_of(Effect effect) { return effect == Effect::allow ? Tri::yes : Tri::no; }

// The first waiver that certainly holds. A time that is not known is after each.
const Waiver* lifting(const Rule& rule, const Question& question, Tri later, Gaps& gaps) {
  const auto& now = question.request.at;
  for (const auto& waiver : rule.waivers) {
    if (!now || std::chrono::floor<std::chrono::days>(*now) > waiver.terms.until) continue;
    if (evaluate(waiver.when, question, later, gaps) == Tri::yes) return &waiver;
  }
  return nullptr;
}

}  // namespace

bool matches(const Rule& rule, const Question& question, Gaps& gaps, const Waiver** lifted_by) {
  const auto later = later_of(rule.effect);
  const auto facts = gaps.facts;
  const auto named = gaps.named.size();
  Tri answer = evaluate(rule.when, question, later, gaps);
  if (answer != Tri::no && rule.unless) {
    answer = std::min(answer, opposite(evaluate(*rule.unless, question, opposite(later), gaps)));
  }
  if (answer != Tri::no) {
    if (const auto* waiver = lifting(rule, question, opposite(later), gaps)) {
      if (lifted_by != nullptr) *lifted_by = waiver;
      answer = Tri::no;
    }
  }
  if (answer == Tri::no) {
    gaps.facts = facts;
    gaps.named.resize(named);
  }
  return rule.effect == Effect::allow ? answer == Tri::yes : answer != Tri::no;
}

bool speaks_for_certain(const Rule& rule, const Question& question) {
  Gaps gaps;
  return evaluate(rule.when, question, Tri::unknown, gaps) == Tri::yes &&
         (!rule.unless || evaluate(*rule.unless, question, Tri::unknown, gaps) == Tri::no);
}

bool may_ask_later(const Rule& rule, const Question& question) {
  if (rule.effect != Effect::ask) return false;
  Gaps gaps;
  return evaluate(rule.when, question, Tri::yes, gaps) == Tri::yes &&
         (!rule.unless || evaluate(*rule.unless, question, Tri::no, gaps) == Tri::no) &&
         lifting(rule, question, Tri::no, gaps) == nullptr;
}

std::vector<std::string_view> unmet(const Rule& rule, const Question& question) {
  std::vector<std::string_view> names;
  const auto later = later_of(rule.effect);
  unmet(rule.when, question, later, names);
  Gaps gaps;
  if (rule.unless && evaluate(*rule.unless, question, opposite(later), gaps) != Tri::no) {
    names.emplace_back("unless");
  }
  return names;
}

}  // namespace policy
