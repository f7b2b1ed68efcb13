#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "policy/stated_words.h"
#include "tests/policy/findings.h"

// The calls that findings show, asked.
namespace policy::findings {

// What a witness leaves out is ordinary and known.
inline std::string_view ordinary(FactKind kind) {
  switch (kind) {
    case FactKind::word:
    case FactKind::labels:
    case FactKind::host:
    case FactKind::url_path:
    case FactKind::addresses:
      return {};
    case FactKind::text:
    case FactKind::host_path:
      return "x";
    case FactKind::number:
      return "1";
    case FactKind::size:
      return "1B";
    case FactKind::duration:
      return "1m";
    case FactKind::guest_path:
      return "/x";
  }
  return {};
}

// `copy_in host_path=transfer:a os_user=alice` as a question, in its halves.
inline StatedQuestion question_of(const std::string& witness) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : witness) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  const auto call = words.front();
  yaml::Node map;
  map.kind = yaml::Node::Kind::map;
  Subject who;
  who.principal = PrincipalId{"uid:1"};
  who.os_user = "somebody";
  who.client_name = "a-client";
  who.uid = 4711;
  std::string labels;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const auto key = words[i].substr(0, equals);
    auto value = words[i].substr(equals + 1);
    if (key == "transport") {
      who.transport = *transport_from(value);
    } else if (key == "os_user") {
      who.os_user = value;
    } else if (key == "client") {
      who.client_name = value;
    } else if (key == "uid") {
      who.uid = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "sandbox.labels") {
      labels += (labels.empty() ? "" : ",") + value;
    } else {
      if (value.starts_with("transfer:")) value.erase(0, 9);
      EXPECT_TRUE(state(map, key, stated_value(key, value))) << witness;
    }
  }
  if (!labels.empty()) {
    EXPECT_TRUE(state(map, "sandbox.labels", stated_value("sandbox.labels", labels)));
  }
  for (const auto& info : fact_table()) {
    const auto text = ordinary(info.kind);
    const auto* word = action_word(call);
    // What is ordinary of a web request the statement says itself.
    const bool web = (info.actions & web_actions()).any() && info.name.find('.') == std::string_view::npos;
    const bool has = word != nullptr && (info.actions & word->actions).any() && !web;
    if (!has || text.empty() || info.fact == Fact::image || info.name.find('.') != std::string_view::npos)
      continue;
    if (map.find(info.name) == nullptr) state(map, info.name, stated_value(info.name, text));
  }
  Diagnostics found;
  auto question = read_question(call, {1, 1}, map, Scope{}, {"witness", &found});
  for (const auto& one : found.take()) ADD_FAILURE() << witness << ": " << one.message;
  if (!question) return {};
  for (auto& request : question->requests) request.who = who;
  return *question;
}

inline bool has(const std::vector<RuleRef>& rules, const std::string& id) {
  return std::any_of(rules.begin(), rules.end(), [&](const RuleRef& rule) { return rule.id == id; });
}

// That each finding of this code shows a call, and what it says of that call is so. How many there were.
inline int expect_shown(const std::vector<Source>& sources, const std::vector<Diagnostic>& found,
                        const std::string& code) {
  const auto compiled = compile(sources);
  const auto* program = dynamic_cast<const RuleProgram*>(compiled.program.get());
  int shown = 0;
  for (const auto& one : found) {
    if (one.code != code) continue;
    SCOPED_TRACE(sources.front().text + one.message);
    const std::string words = ", for example ";
    const auto at = one.message.find(words);
    if (program == nullptr || at == std::string::npos) {
      ADD_FAILURE() << "no example";
      continue;
    }
    const auto rule = rule_of(one);
    const auto question = question_of(one.message.substr(at + words.size()));
    const auto said = answer(*program, question).judgement;
    if (code == "P0305") {
      EXPECT_EQ(said.effect, Effect::deny);
      EXPECT_EQ(said.rule.id, "default");
      EXPECT_NE(one.message.find("tier `" + said.rule.tier + "` above"), std::string::npos);
    } else if (code == "P0302") {
      EXPECT_NE(said.effect, Effect::allow);
      EXPECT_NE(said.rule.id, rule);
      EXPECT_NE(one.message.find("`" + said.rule.id + "`"), std::string::npos);
    }
    EXPECT_TRUE(has(said.matched, rule)) << "the rule does not speak on it";
    EXPECT_GE(said.matched.size(), code == "P0303" ? 2U : 1U);
    ++shown;
  }
  return shown;
}

}  // namespace policy::findings
