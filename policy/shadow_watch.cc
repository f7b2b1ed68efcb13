#include "policy/shadow_watch.h"

#include <algorithm>
#include <utility>

namespace policy {

ShadowWatch::Counts ShadowWatch::fresh() const {
  Counts counts;
  counts.since = clock_.wall();
  counts.since_boot = clock_.since_boot();
  return counts;
}

void ShadowWatch::in_force(const Program* program) {
  std::vector<CountedRule> rules;
  if (program != nullptr) {
    for (auto& rule : program->shadow_rules()) {
      const auto known = std::find_if(rules_.begin(), rules_.end(), [&](const CountedRule& counted) {
        return counted.rule.ref.id == rule.ref.id && counted.rule.ref.tier == rule.ref.tier &&
               counted.rule.effect == rule.effect;
      });
      rules.push_back({std::move(rule), known == rules_.end() ? fresh() : known->counts});
    }
  }
  rules_ = std::move(rules);
}

void ShadowWatch::try_out(std::shared_ptr<const Program> candidate) {
  const bool same = candidate && candidate_ && candidate->digest() == candidate_->digest();
  if (!same) counts_ = fresh();
  candidate_ = std::move(candidate);
}

std::optional<Request> ShadowWatch::as_asked(const Request& request) const noexcept {
  if (!candidate_) return std::nullopt;
  try {
    return request;
  } catch (...) {
    return std::nullopt;
  }
}

std::optional<ShadowVerdict> ShadowWatch::watch(std::optional<Request> asked, const Request& judged,
                                                const Facts& settings, const Judgement& judgement) noexcept {
  // What is built in decides before any rule is asked.
  const bool by_rules = !judgement.rule.id.starts_with("builtin:");
  for (auto& [rule, counts] : rules_) {
    if (!by_rules || !rule.actions.test(judged.what.index())) continue;
    ++counts.evaluated;
    for (const auto& spoke : judgement.shadow) {
      if (spoke.rule != rule.ref) continue;
      ++counts.matched;
      counts.changed += spoke.differs ? 1 : 0;
    }
  }
  if (!candidate_ || !asked) return std::nullopt;
  try {
    const auto says = candidate_->judge(*asked, settings);
    ++counts_.evaluated;
    counts_.matched += says.matched.empty() ? 0 : 1;
    if (says.effect == judgement.effect) return std::nullopt;
    ++counts_.changed;
    return ShadowVerdict{candidate_->digest(), says.effect, says.rule};
  } catch (...) {
    return std::nullopt;
  }
}

bool ShadowWatch::idle(const Counts& counts) const {
  return counts.evaluated == 0 && clock_.since_boot() - counts.since_boot >= kIdle;
}

}  // namespace policy
