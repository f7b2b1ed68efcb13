#include "policy/compile_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "policy/builtin.h"
#include "policy/compile_condition.h"
#include "policy/compile_secrets.h"
#include "policy/compile_web.h"
#include "policy/obligation.h"
#include "policy/units.h"
#include "policy/wording.h"

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr std::array<std::string_view, 3> kEffects{"allow", "ask", "deny"};
constexpr std::array<std::string_view, 11> kRuleKeys{"clamp",  "unless", "why",   "hint",   "examples", "who",
                                                     "within", "shadow", "label", "inject", "since"};
constexpr std::int64_t kMaxCount = 1'000'000'000;

bool is_map(const yaml::Node& section, std::string_view name, const ReadInto& into) {
  return is_section(section, name, "rules, each under its id", into);
}

bool claim_rule(const yaml::Entry& entry, Places& places, const ReadInto& into) {
  if (entry.key != "default") return claim(entry, places, into);
  into.error("P0105", entry.at,
             "`default` is what refuses when no rule speaks; call the rule something else");
  return false;
}

// Where rules stand says what their effects name.
struct Section {
  std::string_view name;
  ActionSet any;      // what `any` stands for
  ActionSet nothing;  // what cannot be named here
};
const std::array<Section, 3>& rule_sections() {
  static const std::array<Section, 3> sections{{{"actions", action_word("any")->actions, web_actions()},
                                                {"input", input_actions(), ~input_actions()},
                                                {"web", web_actions(), ~web_actions()}}};
  return sections;
}

ActionSet named_actions(const yaml::Entry& effect, const Section& section, const ReadInto& into) {
  ActionSet actions;
  const auto words = read_texts(effect.value, quoted(effect.key), into);
  if (!words) return actions;
  if (words->empty()) {
    into.error("P0121", effect.value.at,
               quoted(effect.key) + " is empty and would match nothing; remove the rule");
  }
  for (std::size_t i = 0; i < words->size(); ++i) {
    const auto& word = (*words)[i];
    const auto at = effect.value.kind == Kind::list ? effect.value.items[i].at : effect.value.at;
    if (word == "any") {
      actions |= section.any;
      continue;
    }
    if (const auto* known = action_word(word)) {
      actions |= known->actions;
      if ((known->actions & section.nothing).none()) continue;
      const bool web = (known->actions & web_actions()).any();
      into.error("P0160", at,
                 quoted(word) + " is no action of `" + std::string(section.name) + "`; its rules stand in `" +
                     (web ? "web" : "actions") + "`");
      continue;
    }
    std::vector<std::string_view> names;
    for (const auto& known : action_words()) names.push_back(known.name);
    const bool method =
        word == "GET" || word == "HEAD" || word == "POST" || word == "PUT" || word == "DELETE";
    const auto near = suggestion(word, names);
    into.error("P0110", at,
               "there is no action " + quoted(word) +
                   (method                        ? "; rules about methods stand in `web`"
                    : !near.empty()               ? near
                    : word.find(' ') != word.npos ? "; commas stand between the words of a list"
                                                  : "; `sallyport policy facts` lists those there are"));
  }
  return actions;
}

// The one effect of a rule; null with a report when there is none or several.
const yaml::Entry* only_effect(const yaml::Entry& entry, const ReadInto& into) {
  const yaml::Entry* effect = nullptr;
  int effects = 0;
  for (const auto word : kEffects) {
    if (const auto* found = entry.value.find(word)) {
      effect = found;
      ++effects;
    }
  }
  if (effects == 1) return effect;
  into.error("P0120", entry.at, "rule " + quoted(entry.key) + " needs exactly one of allow, ask, deny");
  return nullptr;
}

// Only what decides a call can be tried on calls.
void refuse_shadow(const Mapping& mapping) {
  const auto* shadow = mapping.find("shadow");
  if (shadow == nullptr) return;
  mapping.into().error("P0170", shadow->at,
                       "`shadow` is for rules of `actions`; " + mapping.what() + " cannot be tried that way");
}

Clamp compile_clamp(const yaml::Entry& entry, ActionSet actions, const std::string& what,
                    const ReadInto& into) {
  static constexpr std::array<std::string_view, 2> kKeys{"timeout", "by"};
  const Mapping mapping(entry.value, "`clamp` of " + what, kKeys, into);
  for (const auto& part : entry.value.entries) {
    const auto* info = fact_named(part.key);
    if (info != nullptr && (info->actions & actions).none()) {
      into.error("P0114", part.at, quoted(part.key) + " means nothing for the actions of " + what);
    }
  }
  return {mapping.duration("timeout"), mapping.duration("by")};
}

std::vector<std::string> compile_labels(const yaml::Entry& entry, const Rule& rule, const Scope& scope,
                                        const std::string& what, const ReadInto& into) {
  auto labels = read_texts(entry.value, "`label`", into).value_or(std::vector<std::string>{});
  if (labels.empty()) into.error("P0121", entry.value.at, "`label` is empty and would do nothing");
  std::erase_if(labels, [&](const std::string& label) { return !check_label(label, entry.value.at, into); });
  if (scope.used != nullptr) scope.used->labels_put.insert(labels.begin(), labels.end());
  if (rule.effect == Effect::deny)
    into.error("P0129", entry.at,
               "`label` marks a sandbox when something is let through; " + what + " refuses");
  std::string lacking;
  for (const auto& word : action_words()) {
    if (word.name == "any" || (word.actions & rule.actions) != word.actions) continue;
    if ((word.actions & actions_in_sandboxes()).none())
      lacking += (lacking.empty() ? "" : ", ") + quoted(word.name);
  }
  if (!lacking.empty())
    into.error("P0114", entry.at, "`label` means nothing for " + lacking + ", which are about no sandbox");
  return labels;
}

std::optional<ParsedRule> compile_rule(const yaml::Entry& entry, const Section& section, const Scope& scope,
                                       const ReadInto& into) {
  const std::string what = "rule " + quoted(entry.key);
  std::vector<std::string_view> keys(condition_keys().begin(), condition_keys().end());
  keys.insert(keys.end(), kEffects.begin(), kEffects.end());
  keys.insert(keys.end(), kRuleKeys.begin(), kRuleKeys.end());
  for (const auto& [key, instead] : uncarried_obligations()) {
    const auto* demanded = entry.value.find(key);
    if (demanded == nullptr) continue;
    keys.push_back(key);
    into.error(
        "P0134", demanded->at,
        what + " demands " + quoted(key) + ", which nothing here can carry out; " + std::string(instead));
  }
  const auto errors = into.diagnostics->errors();
  const Mapping mapping(entry.value, what, keys, into);
  if (entry.value.kind != Kind::map) return std::nullopt;
  const bool understood = into.diagnostics->errors() == errors;
  const auto* effect = only_effect(entry, into);
  if (effect == nullptr) return std::nullopt;

  ParsedRule parsed;
  parsed.at = entry.at;
  parsed.entry = &entry;
  parsed.examples = mapping.has("examples") ? &mapping.find("examples")->value : nullptr;
  auto& rule = parsed.rule;
  rule.ref = reference(entry, scope, into);
  rule.tier = scope.tier;
  rule.effect = effect->key == "allow" ? Effect::allow : effect->key == "ask" ? Effect::ask : Effect::deny;
  const bool web = section.any == web_actions();
  rule.actions = web ? web_actions() : named_actions(*effect, section, into);
  const Ground ground{rule.actions, rule.effect, false, &scope};
  rule.when = compile_conditions(entry.value, ground, what, into);
  if (const auto* unless = mapping.find("unless")) {
    const Mapping inner(unless->value, "`unless` of " + what, condition_keys(), into);
    if (unless->value.entries.empty())
      into.error("P0121", unless->at, "`unless` of " + what + " asks nothing");
    rule.unless = compile_conditions(unless->value, ground.inside_not(), "`unless` of " + what, into);
  }
  // A key that is not one may be what the rule seems to lack.
  if (web && understood) complete_web_rule(*effect, entry.value, what, rule, into);
  rule.shadow = mapping.boolean("shadow").value_or(false);
  if (const auto* since = mapping.find("since")) {
    const auto day = read_date(since->value, "`since` of " + what, into);
    if (day && rule.shadow)
      parsed.shadow_since = ShadowSince{rule.ref.id, *day, std::string(into.file), since->value.at};
    if (!rule.shadow)
      into.error("P0170", since->at,
                 "`since` is the day from which a rule is in shadow; " + what + " is enforced");
  }
  rule.why = mapping.text("why").value_or("");
  rule.hint = mapping.text("hint").value_or("");
  if (rule.effect == Effect::ask) {
    rule.ask_who = compile_people(mapping.find("who"), scope, into);
    rule.ask_within = mapping.duration("within").value_or(std::chrono::minutes(5));
  } else {
    for (const auto word : {"who", "within"}) {
      if (const auto* found = mapping.find(word)) {
        into.error("P0129", found->at, quoted(word) + " belongs to a rule that asks");
      }
    }
  }
  if (const auto* clamp = mapping.find("clamp")) {
    rule.clamp = compile_clamp(*clamp, rule.actions, what, into);
    if (rule.effect == Effect::deny)
      into.error("P0129", clamp->at, "`clamp` lowers what is allowed; " + what + " refuses");
  }
  if (const auto* label = mapping.find("label"))
    rule.labels = compile_labels(*label, rule, scope, what, into);
  if (const auto* inject = mapping.find("inject"))
    rule.injects = compile_injections(*inject, rule, web, what, scope, into);
  return parsed;
}

std::string_view wanted(Meter meter) {
  switch (meter) {
    case Meter::sandboxes:
    case Meter::jobs:
    case Meter::copy_files:
      return "a whole number";
    case Meter::sandbox_age:
      return "a duration like `2h`";
    case Meter::calls:
      return "a rate like `300/1m`";
    case Meter::copy_bytes:
      return "a size like `200MiB`";
  }
  return {};
}

// The number of a limit, written out or taken from a setting.
bool read_max(const yaml::Entry& entry, const Facts& settings, Limit& limit, const ReadInto& into) {
  constexpr std::string_view kSettings = "settings.";
  const auto what = quoted(entry.key);
  if (entry.value.kind == Kind::scalar && !entry.value.quoted && entry.value.text.starts_with(kSettings)) {
    const auto name = entry.value.text.substr(kSettings.size());
    const auto known = settings.find(name);
    const auto* number = known == settings.end() ? nullptr : std::get_if<std::int64_t>(&known->second);
    const bool countable = limit.meter != Meter::calls && limit.meter != Meter::copy_bytes;
    if (number != nullptr && countable && *number >= 0) {
      limit.max = *number;
      return true;
    }
    std::vector<std::string_view> names;
    for (const auto& [setting, value] : settings) names.push_back(setting);
    into.error("P0113", entry.value.at,
               "there is no setting " + quoted(entry.value.text) + " that gives " +
                   std::string(wanted(limit.meter)) +
                   (known == settings.end() ? suggestion(name, names) : ""));
    return false;
  }
  const auto take = [&limit](const auto& value, auto number) {
    if (value) limit.max = static_cast<std::int64_t>(number(*value));
    return value.has_value();
  };
  const auto same = [](auto value) { return value; };
  switch (limit.meter) {
    case Meter::sandboxes:
    case Meter::jobs:
    case Meter::copy_files:
      return take(read_integer(entry.value, 0, kMaxCount, what, into), same);
    case Meter::sandbox_age:
      return take(read_duration(entry.value, what, into), [](auto time) { return time.count(); });
    case Meter::copy_bytes:
      return take(read_size(entry.value, what, into), same);
    case Meter::calls:
      break;
  }
  const auto text = read_text(entry.value, what, into);
  const auto rate = text && !entry.value.quoted ? parse_rate(*text) : std::nullopt;
  if (!rate) {
    if (text)
      into.error("S0109", entry.value.at, what + " must be a rate like `300/1m`, not " + quoted(*text));
    return false;
  }
  limit.max = rate->count;
  limit.window = rate->window;
  return true;
}

std::optional<Per> read_per(const Mapping& mapping, Meter meter) {
  static constexpr std::array<std::string_view, 4> kPers{"everyone", "subject", "session", "sandbox"};
  const bool free = meter == Meter::sandboxes || meter == Meter::calls;
  const auto* entry = free ? mapping.require("per") : mapping.find("per");
  if (entry == nullptr) return free ? std::nullopt : std::optional(Per::sandbox);
  const auto at = mapping.choice("per", kPers);
  if (!at) return std::nullopt;
  const auto per = per_from(kPers[*at]);
  const bool senseless = (!free && per != Per::sandbox) || (meter == Meter::sandboxes && per == Per::sandbox);
  if (senseless) {
    mapping.into().error("P0141", entry->value.at,
                         quoted(spelling(meter)) + " cannot be counted per " + std::string(kPers[*at]));
    return std::nullopt;
  }
  return per;
}

std::optional<Limit> compile_limit(const yaml::Entry& entry, const Scope& scope, const Facts& settings,
                                   const ReadInto& into) {
  static constexpr std::array<std::string_view, 9> kKeys{
      "sandboxes", "sandbox_age", "calls", "jobs", "copy_bytes", "copy_files", "per", "burst", "shadow"};
  const std::string what = "limit " + quoted(entry.key);
  const Mapping mapping(entry.value, what, kKeys, into);
  refuse_shadow(mapping);
  if (entry.value.kind != Kind::map) return std::nullopt;
  const yaml::Entry* meter = nullptr;
  int meters = 0;
  for (const auto& part : entry.value.entries) {
    if (!meter_from(part.key)) continue;
    meter = &part;
    ++meters;
  }
  if (meters != 1) {
    into.error("P0140", entry.at,
               what + " needs exactly one of sandboxes, sandbox_age, calls, jobs, copy_bytes, copy_files");
    return std::nullopt;
  }
  Limit limit;
  limit.rule = reference(entry, scope, into);
  limit.meter = *meter_from(meter->key);
  const auto per = read_per(mapping, limit.meter);
  if (!read_max(*meter, settings, limit, into) || !per) return std::nullopt;
  if (const auto* burst = mapping.find("burst")) {
    if (limit.meter != Meter::calls || limit.max == 0) {
      into.error("P0142", burst->at, "`burst` belongs to a rate of `calls` above none, like `300/1m`");
      return std::nullopt;
    }
    const auto number = mapping.integer("burst", 1, kMaxCount);
    if (!number) return std::nullopt;
    limit.burst = *number;
  }
  limit.per = *per;
  return limit;
}

void compile_section(const yaml::Node& written, const Section& section, const Scope& scope, Places& places,
                     const ReadInto& into, std::vector<ParsedRule>& rules) {
  if (!is_map(written, section.name, into)) return;
  rules.reserve(rules.size() + written.entries.size());
  for (const auto& entry : written.entries) {
    const bool fresh = claim_rule(entry, places, into);
    auto rule = compile_rule(entry, section, scope, into);
    if (rule && fresh) rules.push_back(std::move(*rule));
  }
}

std::vector<ParsedRefusal> compile_vmrun(const yaml::Node& section, const Scope& scope, Places& places,
                                         const ReadInto& into) {
  static constexpr std::array<std::string_view, 4> kKeys{"deny", "why", "hint", "shadow"};
  std::vector<ParsedRefusal> refusals;
  if (!is_map(section, "vmrun", into)) return refusals;
  for (const auto& entry : section.entries) {
    if (entry.value.find("allow") != nullptr || entry.value.find("ask") != nullptr) {
      into.error("P0130", entry.at, "what vmrun may do is built in; `vmrun` can only `deny` some of it");
      continue;
    }
    const Mapping mapping(entry.value, "vmrun rule " + quoted(entry.key), kKeys, into);
    refuse_shadow(mapping);
    ParsedRefusal parsed;
    parsed.at = entry.at;
    parsed.file = into.file;
    parsed.refusal.ref = reference(entry, scope, into);
    parsed.refusal.tier = scope.tier;
    parsed.refusal.why = mapping.text("why").value_or("");
    parsed.refusal.hint = mapping.text("hint").value_or("");
    const bool fresh = claim_rule(entry, places, into);
    const auto* deny = mapping.require("deny");
    const auto words = mapping.texts("deny");
    if (deny == nullptr || !words) continue;
    if (words->empty())
      into.error("P0121", deny->value.at, "`deny` is empty and would match nothing; remove the rule");
    for (const auto& word : *words) {
      if (const auto verb = vmrun_verb_from(word)) {
        parsed.refusal.verbs.push_back(*verb);
        continue;
      }
      into.error(
          "P0110", deny->value.at,
          "there is no vmrun command " + quoted(word) + " here" + suggestion(word, vmrun_verb_names()));
    }
    if (fresh) refusals.push_back(std::move(parsed));
  }
  return refusals;
}

std::vector<Limit> compile_limits(const yaml::Node& section, const Scope& scope, const Facts& settings,
                                  Places& places, const ReadInto& into) {
  std::vector<Limit> limits;
  if (!is_map(section, "limits", into)) return limits;
  for (const auto& entry : section.entries) {
    const bool fresh = claim_rule(entry, places, into);
    auto limit = compile_limit(entry, scope, settings, into);
    if (limit && fresh) limits.push_back(std::move(*limit));
  }
  return limits;
}

}  // namespace

bool claim(const yaml::Entry& entry, Places& places, const ReadInto& into) {
  const auto [known, fresh] = places.emplace(entry.key, place(into.file, entry.at));
  if (!fresh)
    into.error("P0105", entry.at, "the id " + quoted(entry.key) + " stands at " + known->second + " already");
  return fresh;
}

RuleRef reference(const yaml::Entry& entry, const Scope& scope, const ReadInto& into) {
  return {entry.key, std::string(spelling(scope.tier)), place(into.file, entry.at)};
}

ParsedSections compile_sections(const yaml::Node& file, const Scope& scope, const Facts& settings,
                                Places& places, const ReadInto& into) {
  ParsedSections parsed;
  for (const auto& section : rule_sections()) {
    if (const auto* written = file.find(section.name))
      compile_section(written->value, section, scope, places, into, parsed.rules);
  }
  if (const auto* section = file.find("vmrun"))
    parsed.refusals = compile_vmrun(section->value, scope, places, into);
  if (const auto* section = file.find("limits"))
    parsed.limits = compile_limits(section->value, scope, settings, places, into);
  return parsed;
}

}  // namespace policy
