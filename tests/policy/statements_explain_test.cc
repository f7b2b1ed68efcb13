// What is explained of calls under the shipped policies is what decides them, with the place of each rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "policy/explain.h"
#include "policy/stated_words.h"

namespace policy {
namespace {

std::string shipped(const std::string& name) {
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/policies/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kProject = R"(sallyport: policy/v1
tier: project
name: shop
default: inherit
actions:
  look-first: { ask: copy_out, host_path: "transfer:out/**" }
  no-web: { deny: create, network: web }
  far: { allow: copy_in, host_path: "transfer:far/**" }
  farther: { allow: copy_in, host_path: "transfer:farther/**", files: { min: 9 } }
  farthest: { deny: copy_in, host_path: "transfer:farthest/**" }
)";

// The text that stands where a rule is said to be.
std::string text_at(const std::vector<Source>& sources, const std::string& where) {
  for (const auto& source : sources) {
    if (!where.starts_with(source.name + ":")) continue;
    const auto numbers = where.substr(source.name.size() + 1);
    const auto colon = numbers.find(':');
    std::size_t line = std::stoul(numbers.substr(0, colon)), from = 0;
    while (--line > 0) from = source.text.find('\n', from) + 1;
    return source.text.substr(from + std::stoul(numbers.substr(colon + 1)) - 1);
  }
  return {};
}

// Calls of every action, each with some of the values that rules of it tell apart.
std::vector<StatedQuestion> questions(const Anatomy& of) {
  std::vector<StatedQuestion> all;
  for (const auto& word : action_words()) {
    if (word.name == "any") continue;
    for (const auto* network : {"none", "web", "nat"}) {
      for (const auto* path : {"out/a", "web/.env", ".ssh/id_rsa", "src/a"}) {
        for (const auto* bytes : {"1KiB", "9GiB", "unknown"}) {
          std::vector<std::string> words;
          const auto has = [&](Fact fact) { return (info_of(fact).actions & word.actions).any(); };
          if (has(Fact::network)) words.push_back(std::string("network=") + network);
          if (has(Fact::host_path)) words.push_back(std::string("host_path=") + path);
          if (has(Fact::guest_path)) words.push_back("guest_path=/tmp/a");
          if (has(Fact::bytes)) words.push_back(std::string("bytes=") + bytes);
          if (has(Fact::command)) words.push_back("command=make");
          Diagnostics found;
          const ReadInto into{"q", &found};
          const auto map = read_statements(words, into);
          auto question = map ? read_question(word.name, {1, 1}, *map, of.everyone, into) : std::nullopt;
          for (const auto& one : found.take()) ADD_FAILURE() << one.format();
          if (question) all.push_back(std::move(*question));
        }
      }
    }
  }
  return all;
}

// What is to be shown beside a verdict: of the rules about the action that do not speak, as many as there are
// up to three.
std::size_t silent_rules(const Anatomy& of, const Question& question) {
  const auto rules = of.whole->rules();
  return static_cast<std::size_t>(std::count_if(rules.begin(), rules.end(), [&](const Rule& rule) {
    Gaps gaps;
    return rule.actions.test(question.request.what.index()) && !matches(rule, question, gaps);
  }));
}

TEST(Statement10Explain, EveryVerdictNamesItsTierItsRuleAndThePlace) {
  int explicitly = 0, by_default = 0, with_three = 0, asked = 0, near_all = 0;
  for (const auto* name : {"default.yaml", "locked-down.yaml", "read-only.yaml"}) {
    const std::vector<Source> sources{{name, shipped(name), {}}, {"project.yaml", std::string(kProject), {}}};
    const auto studied = study(sources);
    ASSERT_TRUE(studied.anatomy) << studied.compiled.error().message;
    const auto& of = *studied.anatomy;
    for (const auto& stated : questions(of)) {
      const auto halves = explain(of, stated);
      const auto& one = deciding(halves);
      const auto said = answer(*of.whole, stated).judgement;
      SCOPED_TRACE(name + std::string(": ") + to_text(halves));
      ASSERT_EQ(one.judgement.effect, said.effect);
      ASSERT_EQ(one.judgement.rule, said.rule);
      const auto& rule = one.judgement.rule;
      if (rule.id.starts_with("builtin:")) continue;
      EXPECT_TRUE(rule.tier == "user" || rule.tier == "project");
      if (rule.id == "default") {
        ++by_default;
        EXPECT_EQ(one.judgement.code, "deny.default");
        const auto& half = stated.requests[halves.size() - 1];
        with_three += one.near.size() == 3 ? 1 : 0;
        EXPECT_EQ(one.near.size(),
                  std::min<std::size_t>(3, silent_rules(of, {half, stated.settings, stated.withheld})));
      } else {
        ++explicitly;
        EXPECT_NE(one.judgement.code, "deny.default");
        EXPECT_TRUE(text_at(sources, rule.where).starts_with(rule.id + ":")) << rule.where;
      }
      asked += said.effect == Effect::ask ? 1 : 0;
      for (const auto& near : one.near) {
        ++near_all;
        EXPECT_NE(near.unmet, "");
        if (near.rule.id.starts_with("far")) {
          EXPECT_EQ(near.unmet, "host_path") << "the first condition that failed";
          EXPECT_EQ(near.further, near.rule.id == "farther" ? 1U : 0U);
        }
        EXPECT_TRUE(text_at(sources, near.rule.where).starts_with(near.rule.id + ":")) << near.rule.where;
      }
      for (const auto& tier : one.tiers) {
        if (tier.how != TierSays::How::rule) continue;
        EXPECT_TRUE(text_at(sources, tier.rule.where).starts_with(tier.rule.id + ":")) << tier.rule.where;
      }
    }
  }
  EXPECT_GT(explicitly, 200);
  EXPECT_GT(by_default, 100);
  EXPECT_GT(with_three, 10);
  EXPECT_GT(asked, 10);
  EXPECT_GT(near_all, 200);
}

}  // namespace
}  // namespace policy
