#include "policy/self_check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/stated_question.h"
#include "policy/wording.h"
#include "policy/yaml_flow.h"

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

struct Expected {
  std::string effect;
  std::optional<std::string> rule;
  std::optional<std::string> code;
  std::optional<std::vector<std::string>> unknown, labels, inject;
};

// `deny no-secrets`, or a map with the same and more.
std::optional<Expected> read_expected(const yaml::Entry& entry, const ReadInto& into) {
  static constexpr std::array<std::string_view, 3> kEffects{"allow", "ask", "deny"};
  static constexpr std::array<std::string_view, 6> kKeys{"effect",  "rule",   "code",
                                                         "unknown", "labels", "inject"};
  Expected expected;
  const auto errors = into.diagnostics->errors();
  if (entry.value.kind == Kind::map) {
    const Mapping mapping(entry.value, "`expect`", kKeys, into);
    const auto at = mapping.choice("effect", kEffects);
    if (mapping.require("effect") == nullptr || !at) return std::nullopt;
    expected.effect = kEffects[*at];
    expected.rule = mapping.text("rule");
    expected.code = mapping.text("code");
    expected.unknown = mapping.texts("unknown");
    expected.labels = mapping.texts("labels");
    expected.inject = mapping.texts("inject");
  } else {
    const auto text = read_text(entry.value, "`expect`", into);
    if (!text) return std::nullopt;
    const auto blank = text->find(' ');
    expected.effect = text->substr(0, blank);
    if (blank != std::string::npos) expected.rule = text->substr(blank + 1);
    if (std::find(kEffects.begin(), kEffects.end(), expected.effect) == kEffects.end()) {
      into.error("P0152", entry.value.at,
                 "`expect` begins with allow, ask or deny, not " + quoted(expected.effect) +
                     suggestion(expected.effect, kEffects));
    }
  }
  if (into.diagnostics->errors() != errors) return std::nullopt;
  return expected;
}

void note_asker(const yaml::Node& statements, const Scope& scope) {
  if (const auto* as = statements.find("as")) note_subject(scope, as->value.text);
}

// What differs, or nothing.
std::string difference(const Expected& expected, const Judgement& got) {
  std::string wanted = expected.effect;
  if (expected.rule) wanted += " " + *expected.rule;
  std::string said = std::string(spelling(got.effect)) + " " + got.rule.id;
  bool same = expected.effect == spelling(got.effect) && (!expected.rule || *expected.rule == got.rule.id);
  if (expected.code && *expected.code != got.code) {
    wanted += " with code " + *expected.code;
    said += " with code " + got.code;
    same = false;
  }
  const auto compare = [&](const std::optional<std::vector<std::string>>& names, std::vector<std::string> has,
                           std::string_view what, bool tell) {
    if (!names) return;
    auto all = *names;
    std::sort(all.begin(), all.end());
    std::sort(has.begin(), has.end());
    if (all == has) return;
    const auto spelt = [](const auto& of) { return of.empty() ? "none" : joined(of); };
    wanted += " with " + std::string(what) + " " + spelt(all);
    if (tell) said += " with " + std::string(what) + " " + spelt(has);
    same = false;
  };
  compare(expected.unknown, got.unknown, "unknown", false);
  std::vector<std::string> labels, secrets;
  for (const auto& [label, tier] : got.labels) labels.push_back(label);
  for (const auto& one : got.injections) secrets.push_back(one.secret.id);
  compare(expected.labels, std::move(labels), "labels", true);
  compare(expected.inject, std::move(secrets), "secrets", true);
  if (same) return {};
  if (!got.unknown.empty()) said += ", not knowing " + joined(got.unknown);
  return "expected " + quoted(wanted) + ", got " + quoted(said) +
         (got.reason.empty() ? "" : " (" + got.reason + ")");
}

std::optional<Checked> run_test(const yaml::Node& test, const Scope& scope, const RuleProgram& program,
                                const ReadInto& into) {
  std::vector<std::string_view> keys(statement_keys().begin(), statement_keys().end());
  keys.insert(keys.end(), {"call", "expect", "title"});
  const Mapping mapping(test, "test", keys, into);
  if (test.kind != Kind::map) return std::nullopt;
  const auto title = mapping.text("title");
  const auto* call = mapping.require("call");
  const auto* expect = mapping.require("expect");
  if (call == nullptr || expect == nullptr) return std::nullopt;
  const auto name = read_text(call->value, "`call`", into);
  const auto expected = read_expected(*expect, into);
  if (!name || !expected) return std::nullopt;
  const auto stated = read_question(*name, call->value.at, test, scope, into);
  if (!stated) return std::nullopt;
  note_asker(test, scope);
  Checked checked{
      Checked::Kind::test, title ? *title : yaml::statement(test), std::string(into.file), test.at, {}, {}};
  auto got = answer(program, *stated);
  checked.failure = difference(*expected, got.judgement);
  checked.spoke = std::move(got.before);
  checked.spoke.insert(checked.spoke.end(), got.judgement.matched.begin(), got.judgement.matched.end());
  for (const auto& shadow : got.judgement.shadow) checked.spoke.push_back(shadow.rule);
  if (!checked.failure.empty()) {
    into.error("P0150", test.at,
               "the test " + (title ? quoted(*title) : "of " + quoted(*name)) + " fails: " + checked.failure);
  }
  return checked;
}

// The path that a bare example stands for, when the rule asks about exactly one kind.
std::string_view bare_fact(const Rule& rule) {
  const auto can = [&](Fact fact) { return (info_of(fact).actions & rule.actions).any(); };
  if (can(Fact::host)) return "url";
  if (can(Fact::host_path)) return info_of(Fact::host_path).name;
  if (can(Fact::network)) return info_of(Fact::network).name;
  if (can(Fact::command)) return info_of(Fact::command).name;
  if (can(Fact::keys)) return info_of(Fact::keys).name;
  return {};
}

// A rule speaks on an example when it does so for some action it names and some subject it is for: `for` is
// left out unless the example says who asks.
bool speaks(const Rule& rule, const StatedQuestion& stated, bool for_somebody) {
  Rule tried = rule;
  if (auto* all = std::get_if<AllOf>(&tried.when.is); all != nullptr && !for_somebody) {
    std::erase_if(all->parts, [](const Condition& part) {
      const auto* any = std::get_if<AnyOf>(&part.is);
      return any != nullptr && !any->parts.empty() &&
             std::holds_alternative<SubjectIs>(any->parts.front().is);
    });
  }
  return std::any_of(stated.requests.begin(), stated.requests.end(), [&](const Request& request) {
    Gaps gaps;
    return tried.actions.test(request.what.index()) &&
           matches(tried, Question{request, stated.settings, stated.withheld}, gaps);
  });
}

enum class Must { speak, pass };

std::optional<Checked> run_example(const ParsedRule& parsed, const yaml::Node& example, Must must,
                                   const Scope& scope, const ReadInto& into) {
  const auto& rule = parsed.rule;
  yaml::Node map = example;
  if (example.kind == Kind::scalar) {
    const auto fact = bare_fact(rule);
    if (fact.empty()) {
      into.error("P0152", example.at, "an example of this rule is a map of what is asked");
      return std::nullopt;
    }
    map = yaml::Node{Kind::map, false, example.at,
                     {},        {},    {yaml::Entry{std::string(fact), example.at, example}}};
  }
  std::vector<std::string_view> keys(statement_keys().begin(), statement_keys().end());
  keys.push_back("call");
  const Mapping mapping(map, "example of rule " + quoted(rule.ref.id), keys, into);
  if (map.kind != Kind::map) return std::nullopt;
  std::string call;
  if (mapping.has("call")) {
    call = mapping.text("call").value_or("");
  } else {
    for (const auto& word : action_words()) {
      if (word.name == "any" || !call.empty() || (word.actions & rule.actions) != word.actions) continue;
      call = word.name;
    }
  }
  const auto stated = read_question(call, example.at, map, scope, into);
  if (!stated) return std::nullopt;
  note_asker(map, scope);
  const auto name =
      rule.ref.id + (must == Must::speak ? " speaks on " : " lets pass ") + yaml::statement(example);
  Checked checked{Checked::Kind::example, name, std::string(into.file), example.at, {}, {}};
  if (must == Must::speak) checked.spoke.push_back(rule.ref);
  if (speaks(rule, *stated, map.find("as") != nullptr) == (must == Must::speak)) return checked;
  checked.failure = "rule " + quoted(rule.ref.id) +
                    (must == Must::speak ? " does not speak on this example"
                                         : " speaks on this example, and should let it pass");
  into.error("P0151", example.at, checked.failure);
  return checked;
}

}  // namespace

bool is_failed_test(const Diagnostic& found) { return found.code == "P0150" || found.code == "P0151"; }

std::vector<Checked> run_tests(const yaml::Node& section, const Scope& scope, const RuleProgram& program,
                               const ReadInto& into) {
  std::vector<Checked> all;
  if (section.kind != Kind::list) {
    into.error("S0101", section.at, "`tests` must be a list");
    return all;
  }
  for (const auto& test : section.items) {
    if (auto checked = run_test(test, scope, program, into)) all.push_back(std::move(*checked));
  }
  return all;
}

std::vector<Checked> run_examples(const ParsedRule& parsed, const Scope& scope, const ReadInto& into) {
  std::vector<Checked> all;
  if (parsed.examples == nullptr) return all;
  const std::array<std::string_view, 2> keys{spelling(parsed.rule.effect), "pass"};
  const Mapping mapping(*parsed.examples, "`examples` of rule " + quoted(parsed.rule.ref.id), keys, into);
  for (const auto key : keys) {
    const auto* entry = mapping.find(key);
    if (entry == nullptr) continue;
    const auto must = key == "pass" ? Must::pass : Must::speak;
    if (entry->value.kind != Kind::list || entry->value.items.empty()) {
      into.error("P0121", entry->at, quoted(key) + " takes a list of examples");
      continue;
    }
    for (const auto& example : entry->value.items) {
      if (auto checked = run_example(parsed, example, must, scope, into)) all.push_back(std::move(*checked));
    }
  }
  return all;
}

}  // namespace policy
