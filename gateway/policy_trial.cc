#include "gateway/policy_trial.h"

#include <utility>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "audit/record.h"
#include "gateway/setup/setup.h"
#include "policy/units.h"

namespace gateway {
namespace {

Settings with_candidate(Settings settings) {
  settings.policies = settings.shadow_policies;
  return settings;
}

}  // namespace

PolicyTrial::PolicyTrial(const Settings& settings, const policy::Clock& clock, policy::DecisionSink& log)
    : settings_(with_candidate(settings)),
      log_(log),
      since_(audit::timestamp(clock.wall())),
      watch_(clock),
      book_(settings_, PolicyBook::Serials::ignored) {}

void PolicyTrial::look(PolicyBook::Effort effort) {
  if (settings_.shadow_policies.empty()) return;
  const auto look = book_.look(effort);
  if (look == PolicyBook::Look::rejected) {
    const auto why = as_one(book_.problems());
    if (std::exchange(rejected_, why.message) == why.message) return;
    policy::Event event{.act = "policy.shadow_rejected", .level = "warn"};
    event.object["code"] = why.code;
    event.object["why"] = why.message;
    (void)log_.note(event);
    spdlog::warn("the shadow policy cannot be tried: {} [{}]", why.message, why.code);
    return;
  }
  if (book_.problems().empty()) rejected_.clear();
  if (look == PolicyBook::Look::same) return;
  const auto& program = book_.program();
  policy::Event event{.act = "policy.shadow_loaded", .level = "notice"};
  event.object["name"] = program->name();
  event.object["digest"] = "sha256:" + program->digest().hex();
  (void)log_.note(event);
  watch_.try_out(program);
}

nlohmann::json PolicyTrial::counted(const policy::ShadowWatch::Counts& counts) const {
  return {{"evaluated", counts.evaluated},
          {"matched", counts.matched},
          {"changed", counts.changed},
          {"since", audit::timestamp(counts.since)},
          {"never_evaluated", watch_.idle(counts)}};
}

nlohmann::json waivers_of(const policy::Program& program, const policy::Clock& clock) {
  auto all = nlohmann::json::array();
  for (const auto& waiver : program.waivers()) {
    all.push_back({{"waiver", waiver.ref.id},
                   {"tier", waiver.ref.tier},
                   {"src", waiver.ref.where},
                   {"lifts", waiver.lifts},
                   {"until", policy::spell_date(waiver.until)},
                   {"reason", waiver.reason},
                   {"state", policy::spelling(policy::state_of(waiver, policy::today(clock)))}});
  }
  return all;
}

nlohmann::json PolicyTrial::status() const {
  auto json = nlohmann::json::object();
  json["since"] = since_;
  json["shadow"] = nlohmann::json::array();
  for (const auto& [rule, counts] : watch_.rules()) {
    auto one = counted(counts);
    one["rule"] = rule.ref.id;
    one["tier"] = rule.ref.tier;
    one["src"] = rule.ref.where;
    one["effect"] = policy::spelling(rule.effect);
    json["shadow"].push_back(std::move(one));
  }
  if (const auto* candidate = watch_.candidate()) {
    json["shadow_policy"] = counted(watch_.candidate_counts());
    json["shadow_policy"]["name"] = candidate->name();
    json["shadow_policy"]["digest"] = candidate->digest().hex();
  }
  json["problems"] = nlohmann::json::array();
  for (const auto& one : problems()) json["problems"].push_back(one.message + " [" + one.code + "]");
  return json;
}

}  // namespace gateway
