#include "policy/explain.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "policy/units.h"
#include "policy/web_pattern.h"
#include "policy/wording.h"
#include "policy/yaml_flow.h"

namespace policy {
namespace {

constexpr std::size_t kNear = 3;

std::string indented(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out.push_back(c);
    if (c == '\n') out += "        ";
  }
  return out;
}

TierSays::How how_of(const Scope& scope, const Judgement& judgement) {
  if (judgement.rule.id != "default") return TierSays::How::rule;
  return scope.inherit && judgement.matched.empty() ? TierSays::How::no_opinion : TierSays::How::silence;
}

// What the question says of a fact, for people.
struct Shown {
  FactKind kind;
  std::string operator()(std::monostate) const { return "unknown"; }
  std::string operator()(Later) const { return "not known yet"; }
  std::string operator()(std::int64_t number) const {
    if (kind == FactKind::size) return spell_size(static_cast<std::uint64_t>(number));
    if (kind == FactKind::duration) return spell_duration(std::chrono::seconds(number));
    return std::to_string(number);
  }
  std::string operator()(std::string_view text) const { return std::string(text); }
  std::string operator()(const HostPath* path) const { return path->text(); }
  std::string operator()(const GuestPath* path) const { return path->text(); }
  std::string operator()(const Names* names) const {
    if (kind == FactKind::host) return host_text(*names);
    std::string out;
    for (const auto& name : *names) out += "/" + name;
    return out.empty() ? "/" : out;
  }
  std::string operator()(const std::vector<Address>* addresses) const {
    std::string out;
    for (const auto& address : *addresses) out += (out.empty() ? "" : ", ") + address.text();
    return out;
  }
  std::string operator()(const Labels* labels) const {
    std::string out;
    for (const auto& [label, tier] : *labels) out += (out.empty() ? "" : ", ") + label;
    return out.empty() ? "none" : out;
  }
};

std::string said_of(std::string_view name, const Question& question) {
  constexpr std::string_view kSettings = "settings.";
  if (name.starts_with(kSettings)) {
    const auto at = question.settings.find(name.substr(kSettings.size()));
    if (at == question.settings.end()) return "unknown";
    if (const auto* flag = std::get_if<bool>(&at->second)) return *flag ? "true" : "false";
    if (const auto* number = std::get_if<std::int64_t>(&at->second)) return std::to_string(*number);
    return std::get<std::string>(at->second);
  }
  const auto* info = fact_named(name);
  return info == nullptr ? std::string() : std::visit(Shown{info->kind}, value_of(info->fact, question));
}

// The entry that names the methods of a rule of `web:`.
const yaml::Entry* effect_of(const yaml::Entry& rule, std::string_view name) {
  if (name != info_of(Fact::method).name) return nullptr;
  for (const auto* effect : {"allow", "ask", "deny"}) {
    if (const auto* entry = rule.value.find(effect)) return entry;
  }
  return nullptr;
}

// What a rule of `web:` is about when it does not say.
std::string usual_of(const yaml::Entry& rule, std::string_view name) {
  if (name == info_of(Fact::port).name) return "[80, 443]";
  const auto* effect =
      rule.value.find("allow") != nullptr ? rule.value.find("allow") : rule.value.find("ask");
  const bool any = effect != nullptr && effect->value.text == "any";
  return name == info_of(Fact::tls).name ? (any ? "[none, passthrough]" : "none") : "";
}

// What the rule asks under that name, as it is written.
std::string asked_under(const yaml::Entry* rule, std::string_view name) {
  if (rule == nullptr) return {};
  const auto dot = name.find('.');
  const auto* entry = rule->value.find(name);
  if (entry == nullptr) entry = rule->value.find(name == "address" ? "cidrs" : std::string(name) + "s");
  if (entry == nullptr && dot != std::string_view::npos) {
    const bool setting = name.starts_with("settings.");
    const auto* outer = rule->value.find(setting ? "when" : name.substr(0, dot));
    entry = outer == nullptr ? nullptr : outer->value.find(setting ? name : name.substr(dot + 1));
  }
  if (entry == nullptr) entry = effect_of(*rule, name);
  if (entry == nullptr) return usual_of(*rule, name);
  return yaml::statement(entry->value);
}

std::vector<NearRule> nearest(const Anatomy& anatomy, const Question& question, const Judgement& judgement) {
  // A refusal is best explained by what would have allowed it, and the other way round.
  struct Ranked {
    bool of_deciding_tier, would_change;
    std::size_t unmet;
    NearRule near;
  };
  std::vector<Ranked> found;
  for (const auto& rule : anatomy.whole->rules()) {
    Gaps gaps;
    if (!rule.actions.test(question.request.what.index()) || matches(rule, question, gaps)) continue;
    const auto& matched = judgement.matched;
    if (std::find(matched.begin(), matched.end(), rule.ref) != matched.end()) continue;
    const auto names = unmet(rule, question);
    if (names.empty()) continue;
    NearRule near{rule.ref, rule.effect, std::string(names.front()), {}, {}, names.size() - 1};
    const bool refused = judgement.effect == Effect::deny;
    found.push_back({spelling(rule.tier) == judgement.rule.tier, (rule.effect != Effect::deny) == refused,
                     names.size(), std::move(near)});
  }
  std::sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) {
    if (a.would_change != b.would_change) return a.would_change;
    if (a.of_deciding_tier != b.of_deciding_tier) return a.of_deciding_tier;
    return std::tie(a.unmet, a.near.rule.id, a.near.rule.where) <
           std::tie(b.unmet, b.near.rule.id, b.near.rule.where);
  });
  std::vector<NearRule> near;
  for (auto& ranked : found) {
    if (near.size() == kNear) break;
    near.push_back(std::move(ranked.near));
    const auto* placed = anatomy.rule(near.back().rule);
    near.back().asked = asked_under(placed == nullptr ? nullptr : placed->parsed.entry, near.back().unmet);
    near.back().was = said_of(near.back().unmet, question);
  }
  return near;
}

Explained explain_one(const Anatomy& anatomy, const Question& question) {
  Explained explained;
  explained.action = name_of(question.request.what);
  if (const auto* tunnel = std::get_if<Tunnel>(&question.request.what)) {
    explained.sight = tunnel->sight == Tunnel::Sight::inspected ? "looked into" : "passed through";
  }
  explained.judgement = anatomy.whole->judge(question, explained.clamp);
  const bool of_files = !explained.judgement.rule.id.starts_with("builtin:");
  for (const auto& [tier, part] : anatomy.tiers) {
    if (!of_files) break;
    Clamp clamp;
    const auto judgement = part.alone->judge(question, clamp);
    explained.tiers.push_back(
        {tier, part.scope.name, how_of(part.scope, judgement), judgement.effect, judgement.rule});
  }
  for (const auto& ref : explained.judgement.matched) {
    const auto* placed = anatomy.rule(ref);
    const auto effect = placed != nullptr ? placed->parsed.rule.effect : explained.judgement.effect;
    explained.matched.push_back({ref, effect});
  }
  for (auto& waiver : anatomy.whole->waivers()) {
    const auto& used = explained.judgement.waivers;
    if (std::find(used.begin(), used.end(), waiver.ref) != used.end())
      explained.waivers.push_back(std::move(waiver));
  }
  if (of_files) explained.near = nearest(anatomy, question, explained.judgement);
  return explained;
}

std::string clamps(const Clamp& clamp) {
  std::string out;
  if (clamp.timeout) out += "timeout to " + spell_duration(*clamp.timeout);
  if (clamp.by) out += std::string(out.empty() ? "" : ", ") + "by to " + spell_duration(*clamp.by);
  return out;
}

std::string reference(const RuleRef& rule) {
  std::string out = quoted(rule.id);
  if (!rule.where.empty()) out += " at " + rule.where;
  return out;
}

std::string tier_line(const TierSays& says) {
  std::string line = "  tier " + std::string(spelling(says.tier)) + " " + quoted(in_line(says.name)) + ": ";
  switch (says.how) {
    case TierSays::How::rule:
      return line + std::string(spelling(says.effect)) + " by rule " + reference(says.rule) +
             (says.effect == Effect::deny ? " (explicit)" : "");
    case TierSays::How::silence:
      return line + "deny, as no rule allows it (implicit)";
    case TierSays::How::no_opinion:
      return line + "no opinion";
  }
  return line;
}

std::string near_line(const NearRule& near) {
  std::string line = "  near: " + std::string(spelling(near.effect)) + " rule " + reference(near.rule) +
                     " does not match, for " + quoted(near.unmet);
  if (!near.was.empty()) line += " is " + quoted(in_line(near.was));
  if (!near.asked.empty()) line += " and it asks " + quoted(in_line(near.asked));
  if (near.further > 0) line += " (and " + std::to_string(near.further) + " more)";
  return line;
}

Json one_json(const Explained& one) {
  Json json(Json::Object{{"action", one.action},
                         {"effect", spelling(one.judgement.effect)},
                         {"code", one.judgement.code},
                         {"rule", one.judgement.rule.id},
                         {"tier", one.judgement.rule.tier},
                         {"src", one.judgement.rule.where},
                         {"explicit", one.judgement.code != "deny.default"}});
  if (!one.judgement.reason.empty()) json["reason"] = one.judgement.reason;
  if (!one.judgement.hint.empty()) json["hint"] = one.judgement.hint;
  Json::Array tiers, matched, near, unknown;
  for (const auto& says : one.tiers) {
    auto tier = policy::to_json(says.rule);
    tier["tier"] = spelling(says.tier);
    tier["name"] = says.name;
    tier["effect"] = says.how == TierSays::How::no_opinion ? "none" : spelling(says.effect);
    tier["explicit"] = says.how == TierSays::How::rule;
    tiers.push_back(std::move(tier));
  }
  for (const auto& says : one.matched) {
    auto rule = policy::to_json(says.rule);
    rule["effect"] = spelling(says.effect);
    matched.push_back(std::move(rule));
  }
  for (const auto& rule : one.near) {
    auto json_of = policy::to_json(rule.rule);
    json_of["effect"] = spelling(rule.effect);
    json_of["unmet"] = rule.unmet;
    json_of["asked"] = rule.asked;
    json_of["was"] = rule.was;
    json_of["further"] = static_cast<std::int64_t>(rule.further);
    near.push_back(std::move(json_of));
  }
  for (const auto& name : one.judgement.unknown) unknown.emplace_back(name);
  Json::Array waived, shadow;
  for (const auto& waiver : one.waivers) {
    auto of = policy::to_json(waiver.ref);
    of["lifts"] = waiver.lifts;
    of["until"] = spell_date(waiver.until);
    of["reason"] = waiver.reason;
    waived.push_back(std::move(of));
  }
  for (const auto& says : one.judgement.shadow) {
    auto of = policy::to_json(says.rule);
    of["effect"] = spelling(says.effect);
    of["differs"] = says.differs;
    shadow.push_back(std::move(of));
  }
  Json::Array inject, labels;
  for (const auto& says : one.judgement.injections) {
    auto of = policy::to_json(says.secret);
    of["header"] = says.header;
    inject.push_back(std::move(of));
  }
  for (const auto& [label, tier] : one.judgement.labels)
    labels.emplace_back(Json::Object{{"label", label}, {"tier", spelling(tier)}});
  if (!inject.empty()) json["inject"] = std::move(inject);
  if (!labels.empty()) json["labels"] = std::move(labels);
  if (!waived.empty()) json["waivers"] = std::move(waived);
  if (!shadow.empty()) json["shadow"] = std::move(shadow);
  json["tiers"] = std::move(tiers);
  json["matched"] = std::move(matched);
  json["near"] = std::move(near);
  json["unknown"] = std::move(unknown);
  Json::Object clamp;
  if (one.clamp.timeout) clamp.emplace("timeout", spell_duration(*one.clamp.timeout));
  if (one.clamp.by) clamp.emplace("by", spell_duration(*one.clamp.by));
  if (one.judgement.effect != Effect::deny) json["clamp"] = std::move(clamp);
  return json;
}

}  // namespace

std::vector<Explained> explain(const Anatomy& anatomy, const StatedQuestion& stated) {
  std::vector<Explained> halves;
  for (const auto& request : asked_of(*anatomy.whole, stated)) {
    halves.push_back(explain_one(anatomy, Question{request, stated.settings, stated.withheld}));
  }
  ask_at_last(halves.back().judgement);
  return halves;
}

const Explained& deciding(const std::vector<Explained>& halves) {
  for (const auto effect : {Effect::deny, Effect::ask}) {
    for (const auto& one : halves) {
      if (one.judgement.effect == effect) return one;
    }
  }
  return halves.back();
}

Json to_json(const std::vector<Explained>& halves) {
  auto json = one_json(deciding(halves));
  Json::Array steps;
  for (const auto& one : halves) steps.push_back(one_json(one));
  json["steps"] = std::move(steps);
  return json;
}

std::string to_text(const std::vector<Explained>& halves) {
  std::string out;
  for (const auto& one : halves) {
    const auto& judgement = one.judgement;
    out += one.action + (one.sight.empty() ? "" : " (" + one.sight + ")") + ": " +
           std::string(spelling(judgement.effect)) + " by ";
    out += judgement.rule.id == "default" ? "default" : "rule " + reference(judgement.rule);
    out += " [" + judgement.code + "]\n";
    if (!judgement.reason.empty()) out += "  why: " + indented(judgement.reason) + "\n";
    if (!judgement.hint.empty()) out += "  hint: " + indented(judgement.hint) + "\n";
    for (const auto& says : one.tiers) out += tier_line(says) + "\n";
    for (const auto& says : one.matched) {
      out += "  matched: " + std::string(spelling(says.effect)) + " rule " + reference(says.rule) + "\n";
    }
    for (const auto& says : judgement.injections)
      out += "  sends: secret " + reference(says.secret) + " as " + quoted(says.header) + "\n";
    for (const auto& [label, tier] : judgement.labels)
      out += "  labels: " + quoted(label) + " of tier " + std::string(spelling(tier)) + "\n";
    for (const auto& waiver : one.waivers) {
      out += "  waived: rule " + quoted(waiver.lifts) + " by waiver " + reference(waiver.ref) + " until " +
             spell_date(waiver.until) + ": " + in_line(waiver.reason) + "\n";
    }
    for (const auto& says : judgement.shadow) {
      out += "  shadow: " + std::string(spelling(says.effect)) + " rule " + reference(says.rule) +
             (says.differs ? " would change the answer\n" : " would change nothing\n");
    }
    for (const auto& near : one.near) out += near_line(near) + "\n";
    for (const auto& name : judgement.unknown) out += "  unknown: " + quoted(name) + "\n";
    const auto lowered = clamps(one.clamp);
    if (!lowered.empty() && judgement.effect != Effect::deny) out += "  lowers: " + lowered + "\n";
  }
  return out;
}

}  // namespace policy
