#include <algorithm>
#include <array>

#include "policy/rule_program.h"

namespace policy {
namespace {

// What a rule answers when nobody has said yet what is asked. `unless` lifts a rule only where it certainly
// holds.
Tri speaks(const Rule& rule, const Question& question) {
  Gaps gaps;
  const Tri asked = evaluate(rule.when, question, Tri::unknown, gaps);
  if (asked == Tri::no) return asked;
  // On which day and for what a waiver would hold is not known yet.
  for (const auto& waiver : rule.waivers) {
    if (evaluate(waiver.when, question, Tri::unknown, gaps) != Tri::no) return Tri::unknown;
  }
  if (!rule.unless) return asked;
  return std::min(asked, opposite(evaluate(*rule.unless, question, Tri::unknown, gaps)));
}

}  // namespace

// With every argument and every fact of the sandbox unknown, counted in the caller's favour: a deny rule
// refuses only where it certainly speaks, and an allow rule serves where it may.
bool RuleProgram::may_be_allowed(const Subject& who, std::size_t action) const {
  // The action named here is not looked at: every fact that depends on it is withheld.
  const Request request{who, std::nullopt, List{}, Correlation{CallId::random(), {}, std::nullopt}};
  const Facts no_settings;
  Question question{request, no_settings, {}};
  question.withheld.set();

  std::array<bool, kTierCount> serves{};
  bool anywhere = false;
  for (const auto& rule : set_.rules) {
    if (!rule.actions.test(action)) continue;
    const Tri answer = speaks(rule, question);
    if (answer == Tri::no) continue;
    if (rule.effect == Effect::deny) {
      if (answer == Tri::yes) return false;
      continue;
    }
    serves[static_cast<std::size_t>(rule.tier)] = true;
    anywhere = true;
  }
  return anywhere && std::all_of(set_.tiers.begin(), set_.tiers.end(), [&](const TierStance& tier) {
           return tier.inherit || serves[static_cast<std::size_t>(tier.tier)];
         });
}

}  // namespace policy
