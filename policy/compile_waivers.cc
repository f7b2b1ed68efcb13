#include "policy/compile_waivers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/compile_condition.h"
#include "policy/wording.h"

namespace policy {
namespace {

constexpr std::array<std::string_view, 3> kTerms{"lift", "until", "reason"};

Rule* rule_lifted(const Mapping& mapping, const Scope& scope, std::span<Rule* const> rules,
                  std::span<const Rule* const> others) {
  const auto* lift = mapping.require("lift");
  const auto id = mapping.text("lift");
  if (lift == nullptr || !id) return nullptr;
  const auto& into = mapping.into();
  const auto named = [&](const Rule* rule) { return rule->ref.id == *id; };
  const auto found = std::find_if(rules.begin(), rules.end(), named);
  if (found != rules.end()) {
    if ((*found)->effect != Effect::allow) return *found;
    into.error(
        "P0173", lift->value.at,
        "rule " + quoted(*id) + " (" + (*found)->ref.where + ") allows; a waiver lifts what refuses or asks");
    return nullptr;
  }
  const auto other = std::find_if(others.begin(), others.end(), named);
  if (other != others.end()) {
    into.error("P0172", lift->value.at,
               "rule " + quoted(*id) + " (" + (*other)->ref.where + ") is of tier " +
                   quoted(spelling((*other)->tier)) + "; a waiver lifts rules of its own, which is " +
                   quoted(spelling(scope.tier)));
    return nullptr;
  }
  std::vector<std::string_view> names;
  for (const auto* rule : rules) {
    if (rule->effect != Effect::allow) names.push_back(rule->ref.id);
  }
  into.error("P0171", lift->value.at,
             "there is no rule " + quoted(*id) + " to lift" + suggestion(*id, names));
  return nullptr;
}

void compile_waiver(const yaml::Entry& entry, const Scope& scope, std::span<Rule* const> rules,
                    std::span<const Rule* const> others, bool fresh, const ReadInto& into) {
  const auto what = "waiver " + quoted(entry.key);
  std::vector<std::string_view> keys(condition_keys().begin(), condition_keys().end());
  keys.insert(keys.end(), kTerms.begin(), kTerms.end());
  const Mapping mapping(entry.value, what, keys, into);
  if (entry.value.kind != yaml::Node::Kind::map) return;
  const auto errors = into.diagnostics->errors();
  auto* rule = rule_lifted(mapping, scope, rules, others);
  Waiver waiver;
  auto& terms = waiver.terms;
  terms.ref = reference(entry, scope, into);
  terms.file = into.file;
  if (const auto* until = mapping.require("until")) {
    terms.until = read_date(until->value, "`until` in " + what, into).value_or(std::chrono::sys_days());
    terms.until_at = until->value.at;
  }
  if (const auto* reason = mapping.require("reason")) {
    terms.reason = mapping.text("reason").value_or("");
    if (reason->value.kind == yaml::Node::Kind::scalar &&
        reason->value.text.find_first_not_of(' ') == std::string::npos)
      into.error("P0174", reason->value.at, "`reason` of " + what + " is empty; say why it is needed");
  }
  const bool asks = std::any_of(entry.value.entries.begin(), entry.value.entries.end(), [](const auto& one) {
    return std::find(kTerms.begin(), kTerms.end(), one.key) == kTerms.end();
  });
  if (!asks) {
    into.error("P0121", entry.at,
               what + " asks nothing and would lift the whole rule; say for whom or for what");
  }
  if (rule == nullptr) return;
  terms.lifts = rule->ref.id;
  // As `unless`: a match makes more possible.
  const Ground ground{rule->actions, rule->effect, false, &scope};
  waiver.when = compile_conditions(entry.value, ground.inside_not(), what, into);
  if (fresh && into.diagnostics->errors() == errors) rule->waivers.push_back(std::move(waiver));
}

}  // namespace

void compile_waivers(const yaml::Node& file, const Scope& scope, Places& places, std::span<Rule* const> rules,
                     std::span<const Rule* const> others, const ReadInto& into) {
  const auto* section = file.find("waivers");
  if (section == nullptr) return;
  if (section->value.kind != yaml::Node::Kind::map) {
    into.error("S0101", section->value.at, "`waivers` must be a map of waivers, each under its id");
    return;
  }
  for (const auto& entry : section->value.entries) {
    const bool fresh = claim(entry, places, into);
    compile_waiver(entry, scope, rules, others, fresh, into);
  }
}

}  // namespace policy
