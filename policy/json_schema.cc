#include "policy/json_schema.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/builtin.h"
#include "policy/compile.h"
#include "policy/compile_condition.h"
#include "policy/compile_scope.h"
#include "policy/facts.h"
#include "policy/limit.h"
#include "policy/program.h"
#include "policy/stated_question.h"

namespace policy {
namespace {

using Members = Json::Object;

Json object(Members members) { return Json(std::move(members)); }
Json type(std::string_view name) { return object({{"type", name}}); }
Json definition(std::string_view name) { return object({{"$ref", "#/$defs/" + std::string(name)}}); }
Json pattern(std::string_view text) { return object({{"type", "string"}, {"pattern", text}}); }
Json any_of(Json::Array parts) { return object({{"anyOf", std::move(parts)}}); }

template <class Words>
Json one_of(const Words& words) {
  Json::Array values;
  for (const auto& word : words) values.emplace_back(std::string_view(word));
  return object({{"enum", std::move(values)}});
}

// A map with these keys and no others.
Json closed(Members properties, std::vector<std::string> required = {}) {
  Members map{
      {"type", "object"}, {"properties", object(std::move(properties))}, {"additionalProperties", false}};
  if (!required.empty()) {
    Json::Array names;
    for (auto& name : required) names.emplace_back(std::move(name));
    map.emplace("required", std::move(names));
  }
  return object(std::move(map));
}

// A map from ids to values of one shape.
Json named(Json value) {
  return object({{"type", "object"},
                 {"propertyNames", pattern("^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")},
                 {"additionalProperties", std::move(value)}});
}

Json list_of(Json item) { return object({{"type", "array"}, {"items", std::move(item)}, {"minItems", 1}}); }
Json one_or_more(const Json& item) { return any_of({item, list_of(item)}); }

// Text as the reader gives it: words that look like numbers are text where text is asked for.
Json text() { return object({{"type", Json::Array{"string", "number"}}}); }
Json count() { return object({{"type", "integer"}, {"minimum", 0}}); }
Json size() { return pattern("^[0-9]+(B|KiB|MiB|GiB|TiB|kB|MB|GB|TB)$"); }
Json duration() { return pattern("^[0-9]+(s|m|h|d)$"); }
Json date() { return pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"); }
Json boolean() { return type("boolean"); }

std::string matcher_name(const FactInfo& info) { return "matcher." + std::string(info.name); }

// One value of a fact, in a rule or in a test.
Json value_of(const FactInfo& info) {
  switch (info.kind) {
    case FactKind::word: {
      Json::Array words;
      for (const auto choice : info.choices) words.emplace_back(choice);
      return any_of({object({{"enum", std::move(words)}}), pattern("^\\$")});
    }
    case FactKind::text:
      return text();
    case FactKind::number:
      return count();
    case FactKind::size:
      return size();
    case FactKind::duration:
      return duration();
    case FactKind::host_path:
      return pattern("^transfer:");
    case FactKind::guest_path:
      return pattern("^(/|\\*\\*|\\$)");
    case FactKind::labels:
    case FactKind::host:
    case FactKind::addresses:
      return text();
    case FactKind::url_path:
      return pattern("^(/|\\$)");
  }
  return {};
}

// What a rule may ask of a fact.
Json matcher(const FactInfo& info) {
  const auto self = definition(matcher_name(info));
  const auto value = value_of(info);
  switch (info.kind) {
    case FactKind::word:
    case FactKind::text: {
      Members ways{{"equals", one_or_more(value)}, {"in", one_or_more(value)}, {"not", self}};
      if (info.kind == FactKind::text) {
        for (const auto way : {"glob", "re2", "re2_search"}) ways.emplace(way, one_or_more(text()));
      }
      auto way = closed(std::move(ways));
      way["minProperties"] = 1;
      way["maxProperties"] = 1;
      return any_of({value, list_of(value), std::move(way)});
    }
    case FactKind::number:
    case FactKind::size:
    case FactKind::duration:
      return any_of({value, list_of(value), closed({{"min", value}, {"max", value}}),
                     closed({{"equals", self}}, {"equals"}), closed({{"not", self}}, {"not"})});
    case FactKind::host_path:
    case FactKind::guest_path:
      return any_of({value, list_of(value),
                     closed({{"path", one_or_more(value)}, {"dotfiles", boolean()}}, {"path"}),
                     closed({{"not", self}}, {"not"})});
    case FactKind::host:
    case FactKind::url_path:
    case FactKind::addresses: {
      Members ways{{"in", one_or_more(value)}, {"not", self}};
      if (info.kind != FactKind::addresses) ways.emplace("equals", one_or_more(value));
      auto way = closed(std::move(ways));
      way["minProperties"] = 1;
      way["maxProperties"] = 1;
      return any_of({value, list_of(value), std::move(way)});
    }
    case FactKind::labels:
      return any_of({value, list_of(value), closed({{"any", one_or_more(value)}}, {"any"}),
                     closed({{"all", one_or_more(value)}}, {"all"})});
  }
  return {};
}

constexpr std::string_view kSandbox = "sandbox.";

Json setting(const FactValue& sample) {
  if (std::holds_alternative<bool>(sample)) return boolean();
  if (std::holds_alternative<std::string>(sample)) return one_or_more(text());
  return any_of({count(), closed({{"min", count()}, {"max", count()}})});
}

// The keys that ask something.
Members conditions() {
  Members keys, sandbox, settings;
  for (const auto& info : fact_table()) {
    const auto reference = definition(matcher_name(info));
    if (info.name.starts_with(kSandbox)) {
      sandbox.emplace(info.name.substr(kSandbox.size()), reference);
    }
  }
  for (const auto& [name, value] : known_settings()) settings.emplace("settings." + name, setting(value));
  for (const auto key : condition_keys()) {
    if (const auto* info = fact_of_key(key)) {
      keys.emplace(key, definition(matcher_name(*info)));
    } else if (key == "for") {
      keys.emplace(key, one_or_more(text()));
    } else if (key == "sandbox") {
      keys.emplace(key, any_of({one_or_more(text()), closed(sandbox)}));
    } else if (key == "when") {
      keys.emplace(key, closed(settings));
    } else if (key == "not") {
      keys.emplace(key, definition("conditions"));
    } else {
      keys.emplace(key, list_of(definition("conditions")));
    }
  }
  return keys;
}

// A rule whose effects name what `named` says.
Json rule(const Json& named) {
  auto keys = conditions();
  Json::Array effects;
  for (const auto effect : {"allow", "ask", "deny"}) {
    keys.emplace(effect, one_or_more(named));
    effects.push_back(object({{"required", Json::Array{effect}}}));
  }
  const auto examples = list_of(any_of({text(), definition("statement")}));
  keys.emplace("clamp", closed({{"timeout", duration()}, {"by", duration()}}));
  keys.emplace("label", one_or_more(text()));
  keys.emplace("inject", one_or_more(text()));
  keys.emplace("unless", definition("conditions"));
  keys.emplace("why", text());
  keys.emplace("hint", text());
  keys.emplace("shadow", boolean());
  keys.emplace("since", date());
  keys.emplace("who", any_of({one_of(std::array{kPeopleUser, kPeopleInClient}), text()}));
  keys.emplace("within", duration());
  keys.emplace("examples",
               closed({{"allow", examples}, {"ask", examples}, {"deny", examples}, {"pass", examples}}));
  auto map = closed(std::move(keys));
  map["oneOf"] = std::move(effects);
  return map;
}

// The words for actions that rules of a section may name.
Json words_for(ActionSet nameable) {
  std::vector<std::string_view> words;
  for (const auto& word : action_words()) {
    if ((word.actions & ~nameable).none() || word.name == "any") words.push_back(word.name);
  }
  return one_of(words);
}

// What tests and examples state: values or `unknown`.
Members statements() {
  Members keys, sandbox, settings;
  const auto or_unknown = [](Json value) {
    return any_of({std::move(value), object({{"const", "unknown"}})});
  };
  const auto plain = [](const FactInfo& info) {
    if (info.kind == FactKind::word) return one_of(info.choices);
    if (info.kind == FactKind::host_path || info.kind == FactKind::guest_path) return text();
    if (info.kind == FactKind::addresses) return one_or_more(text());
    return value_of(info);
  };
  for (const auto& info : fact_table()) {
    const bool labels = info.kind == FactKind::labels;
    auto value =
        or_unknown(labels ? any_of({text(), object({{"type", "array"}, {"items", text()}})}) : plain(info));
    if (info.name.starts_with(kSandbox)) sandbox.emplace(info.name.substr(kSandbox.size()), std::move(value));
  }
  for (const auto& [name, value] : known_settings()) {
    const bool flag = std::holds_alternative<bool>(value), word = std::holds_alternative<std::string>(value);
    settings.emplace(name, or_unknown(flag ? boolean() : word ? text() : count()));
  }
  for (const auto key : statement_keys()) {
    if (const auto* info = fact_named(key)) {
      keys.emplace(key, or_unknown(plain(*info)));
    } else if (key == "sandbox") {
      keys.emplace(key, closed(sandbox));
    } else if (key == "settings") {
      keys.emplace(key, closed(settings));
    } else {
      keys.emplace(key, key == "at" ? date() : text());
    }
  }
  std::vector<std::string_view> calls{Vmrun::kName};
  for (const auto& word : action_words()) {
    if (word.name != "any") calls.push_back(word.name);
  }
  keys.emplace("call", one_of(calls));
  return keys;
}

Json test() {
  auto keys = statements();
  const std::array<std::string_view, 3> effects{"allow", "ask", "deny"};
  const auto names = any_of({text(), object({{"type", "array"}, {"items", text()}})});
  keys.emplace("title", text());
  keys.emplace("expect", any_of({pattern("^(allow|ask|deny)( .+)?$"), closed({{"effect", one_of(effects)},
                                                                              {"rule", text()},
                                                                              {"code", text()},
                                                                              {"unknown", names},
                                                                              {"labels", names},
                                                                              {"inject", names}},
                                                                             {"effect"})}));
  return closed(std::move(keys), {"call", "expect"});
}

Json limit() {
  constexpr std::array<Meter, 6> kMeters{Meter::sandboxes, Meter::sandbox_age, Meter::calls,
                                         Meter::jobs,      Meter::copy_bytes,  Meter::copy_files};
  const auto setting = pattern("^settings\\.");
  Members keys;
  Json::Array meters;
  for (const auto meter : kMeters) {
    const auto name = spelling(meter);
    meters.push_back(object({{"required", Json::Array{name}}}));
    if (meter == Meter::calls) {
      keys.emplace(name, pattern("^[0-9]+/[0-9]+(s|m|h|d)$"));
    } else if (meter == Meter::copy_bytes) {
      keys.emplace(name, size());
    } else {
      keys.emplace(name, any_of({meter == Meter::sandbox_age ? duration() : count(), setting}));
    }
  }
  std::vector<std::string_view> pers;
  for (const auto per : {Per::everyone, Per::principal, Per::session, Per::sandbox})
    pers.push_back(spelling(per));
  keys.emplace("per", one_of(pers));
  keys.emplace("burst", object({{"type", "integer"}, {"minimum", 1}}));
  auto map = closed(std::move(keys));
  map["oneOf"] = std::move(meters);
  return map;
}

Json waiver() {
  auto keys = conditions();
  keys.emplace("lift", text());
  keys.emplace("until", date());
  keys.emplace("reason", text());
  auto map = closed(std::move(keys), {"lift", "until", "reason"});
  map["minProperties"] = 4;
  return map;
}

Json subject() {
  const std::array<std::string_view, 3> transports{"stdio", "http", "cli"};
  auto map = closed({{"transport", one_or_more(one_of(transports))},
                     {"os_user", one_or_more(text())},
                     {"uid", one_or_more(count())},
                     {"token", closed({{"issuer", one_or_more(text())},
                                       {"subject", one_or_more(text())},
                                       {"audience", one_or_more(text())}},
                                      {"issuer"})},
                     {"client", one_or_more(text())}});
  map["minProperties"] = 1;
  return map;
}

Json secret() {
  const auto hosts = one_or_more(text()), paths = one_or_more(text()), ports = one_or_more(count()),
             methods = one_or_more(pattern("^([A-Z-]+|[$].+)$"));
  return closed({{"host", hosts},
                 {"hosts", hosts},
                 {"port", ports},
                 {"ports", ports},
                 {"method", methods},
                 {"methods", methods},
                 {"path", paths},
                 {"paths", paths},
                 {"header", text()},
                 {"as", one_of(std::array<std::string_view, 3>{"bearer", "basic", "plain"})},
                 {"why", text()}});
}

Json refusal() {
  return closed({{"deny", one_or_more(one_of(vmrun_verb_names()))}, {"why", text()}, {"hint", text()}},
                {"deny"});
}

}  // namespace

Json policy_schema() {
  Members definitions;
  for (const auto& info : fact_table()) definitions.emplace(matcher_name(info), matcher(info));
  auto asked = closed(conditions());
  asked["minProperties"] = 1;
  definitions.emplace("conditions", std::move(asked));
  definitions.emplace("statement", closed(statements()));
  std::vector<std::string_view> tiers;
  for (const auto tier : {Tier::org, Tier::user, Tier::project, Tier::session})
    tiers.push_back(spelling(tier));
  Json::Array sets;
  for (const auto kind : set_kinds())
    sets.push_back(closed({{std::string(kind), one_or_more(text())}}, {std::string(kind)}));
  const auto set = object({{"anyOf", std::move(sets)}});
  auto schema = closed({{"sallyport", object({{"const", "policy/v1"}})},
                        {"tier", one_of(tiers)},
                        {"name", text()},
                        {"serial", count()},
                        {"default", one_of(std::array<std::string_view, 2>{"deny", "inherit"})},
                        {"sets", named(set)},
                        {"subjects", named(subject())},
                        {"actions", named(rule(words_for(~web_actions())))},
                        {"input", named(rule(words_for(input_actions())))},
                        {"web", named(rule(pattern("^([A-Z-]+|any)$")))},
                        {"vmrun", named(refusal())},
                        {"limits", named(limit())},
                        {"waivers", named(waiver())},
                        {"secrets", named(secret())},
                        {"tests", object({{"type", "array"}, {"items", test()}})}},
                       {"sallyport", "tier", "default"});
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Sallyport policy";
  schema["$defs"] = object(std::move(definitions));
  return schema;
}

}  // namespace policy
