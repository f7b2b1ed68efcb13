// What people are told about policies: the same verdicts as calls get, with the rules behind them.
#include "policy/explain.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/stated_words.h"
#include "policy/test_run.h"
#include "policy/who_can.h"
#include "policy/yaml_flow.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

constexpr std::string_view kUser = R"(sallyport: policy/v1
tier: user
name: mine
default: deny
subjects:
  terminal: { transport: cli }
  alice: { os_user: alice }
actions:
  make: { allow: create, network: none }
  make-web: { allow: create, network: web, when: { settings.web: true } }
  no-nat: { deny: create, network: nat, why: nat is off }
  bring: { allow: copy_in, host_path: "transfer:src/**", bytes: { max: 1MiB } }
  take: { allow: copy_out }
  small: { deny: copy_out, bytes: { min: 1MiB } }
  use: { allow: run, clamp: { timeout: 10m } }
  end: { ask: destroy, for: alice }
  end-here: { allow: destroy, for: terminal }
  images: { allow: image_build, for: terminal, examples: { pass: [ { name: x, as: alice } ] } }
)";
constexpr std::string_view kProject = R"(sallyport: policy/v1
tier: project
name: shop
default: inherit
subjects:
  bob: { os_user: bob }
actions:
  no-run: { deny: run, for: bob }
)";

std::unique_ptr<const Anatomy> anatomy(std::vector<std::string> texts) {
  std::vector<Source> sources;
  for (auto& text : texts)
    sources.push_back({"f" + std::to_string(sources.size()) + ".yaml", std::move(text), {}});
  auto studied = study(sources);
  for (const auto& found : studied.compiled.diagnostics) ADD_FAILURE() << found.format();
  return std::move(studied.anatomy);
}
std::unique_ptr<const Anatomy> both() { return anatomy({std::string(kUser), std::string(kProject)}); }

StatedQuestion asked(const Anatomy& of, std::string_view call, const std::vector<std::string>& words) {
  Diagnostics found;
  const ReadInto into{"q", &found};
  const auto map = read_statements(words, into);
  auto question = map ? read_question(call, {1, 1}, *map, of.everyone, into) : std::nullopt;
  for (const auto& one : found.take()) ADD_FAILURE() << one.format();
  return question ? std::move(*question) : StatedQuestion{};
}

struct Row {
  const char* call;
  std::vector<std::string> words;
  const char* verdict;  // effect, rule, code
  const char* user;     // what the tiers say
  const char* project;
  std::vector<std::string> near;  // rule: condition
};

std::string said(const TierSays& says) {
  switch (says.how) {
    case TierSays::How::rule:
      return std::string(spelling(says.effect)) + " " + says.rule.id;
    case TierSays::How::silence:
      return "silence";
    case TierSays::How::no_opinion:
      return "none";
  }
  return {};
}

TEST(Statement10Explain, TellsTheVerdictOfEachTierAndTheNearestRules) {
  const auto of = both();
  ASSERT_TRUE(of);
  const std::vector<Row> table{
      {"create", {}, "allow make allow", "allow make", "none", {"no-nat: network", "make-web: network"}},
      {"create",
       {"network=nat"},
       "deny no-nat deny.rule",
       "deny no-nat",
       "none",
       {"make: network", "make-web: network"}},
      {"create",
       {"network=web"},
       "deny default deny.default",
       "silence",
       "none",
       {"make: network", "make-web: settings.web", "no-nat: network"}},
      {"copy_in",
       {"host_path=src/a", "guest_path=/a", "bytes=2MiB"},
       "deny default deny.default",
       "silence",
       "none",
       {"bring: bytes"}},
      {"run", {"command=ls"}, "allow use allow", "allow use", "none", {"no-run: for"}},
      {"run", {"command=ls", "as=bob"}, "deny no-run deny.rule", "allow use", "deny no-run", {}},
      {"destroy", {"as=alice"}, "ask end ask", "ask end", "none", {"end-here: for"}},
      {"list", {}, "deny default deny.default", "silence", "none", {}},
      {"kill_switch", {"as=terminal"}, "allow builtin:kill-switch allow", "", "", {}},
  };
  for (const auto& row : table) {
    const auto halves = explain(*of, asked(*of, row.call, row.words));
    ASSERT_FALSE(halves.empty()) << row.call;
    const auto& one = deciding(halves);
    EXPECT_EQ(questions::said(one.judgement) + " " + one.judgement.code, row.verdict) << row.call;
    EXPECT_EQ(one.tiers.empty() ? "" : said(one.tiers.front()), row.user) << row.call;
    EXPECT_EQ(one.tiers.empty() ? "" : said(one.tiers.back()), row.project) << row.call;
    std::vector<std::string> near;
    for (const auto& rule : one.near) near.push_back(rule.rule.id + ": " + rule.unmet);
    EXPECT_EQ(near, row.near) << row.call;
  }
}

TEST(PolicyExplain, SaysWhatWasAskedAndWhatItWas) {
  const auto of = both();
  ASSERT_TRUE(of);
  EXPECT_EQ(
      to_text(explain(*of, asked(*of, "copy_in", {"host_path=src/a", "guest_path=/a", "bytes=2MiB"}))),
      "copy_in: deny by default [deny.default]\n"
      "  why: no rule of `mine` allows `copy_in` as it is; rule `bring` would, but for `bytes`\n"
      "  tier user `mine`: deny, as no rule allows it (implicit)\n"
      "  tier project `shop`: no opinion\n"
      "  near: allow rule `bring` at f0.yaml:12:3 does not match, for `bytes` is `2MiB` and it asks `{ max: "
      "1MiB }`\n");
  EXPECT_EQ(to_text(explain(*of, asked(*of, "run", {"command=ls", "timeout=1h"}))),
            "run: allow by rule `use` at f0.yaml:15:3 [allow]\n"
            "  tier user `mine`: allow by rule `use` at f0.yaml:15:3\n"
            "  tier project `shop`: no opinion\n"
            "  matched: allow rule `use` at f0.yaml:15:3\n"
            "  near: deny rule `no-run` at f1.yaml:8:3 does not match, for `for` and it asks `bob`\n"
            "  lowers: timeout to 10m\n");
}

// The same three ways that `check request` and tests take: looked into, passed through, refused by both.
TEST(PolicyExplain, FollowsHttpsAsTheProxyWould) {
  const auto of =
      anatomy({"sallyport: policy/v1\ntier: user\nname: w\ndefault: deny\nweb:\n"
               "  seen: { allow: GET, hosts: a.example.org, tls: inspect }\n  blind: { allow: any, hosts: "
               "b.example.org }\n"});
  ASSERT_TRUE(of);
  const auto steps = [&](const std::string& url, const std::string& method) {
    const auto question = asked(*of, "fetch", {"url=" + url, "method=" + method});
    const auto halves = explain(*of, question);
    EXPECT_EQ(questions::said(deciding(halves).judgement),
              questions::said(answer(*of->whole, question).judgement));
    std::string said;
    for (const auto& half : halves)
      said += half.action + " " + half.sight + ": " + questions::said(half.judgement) + "\n";
    return said;
  };
  EXPECT_EQ(steps("https://a.example.org/", "GET"), "tunnel looked into: allow seen\nfetch : allow seen\n");
  EXPECT_EQ(steps("https://b.example.org/", "POST"), "tunnel passed through: allow blind\n");
  EXPECT_EQ(steps("https://a.example.org/", "POST"),
            "tunnel looked into: allow seen\nfetch : deny default\n");
  EXPECT_EQ(steps("http://b.example.org/", "POST"), "fetch : allow blind\n");
  const auto refused =
      to_text(explain(*of, asked(*of, "fetch", {"url=https://a.example.org/", "method=POST"})));
  EXPECT_NE(refused.find("does not match, for `method` is `POST` and it asks `GET`"), std::string::npos)
      << refused;
}

TEST(PolicyExplain, NamesWhatIsNotKnown) {
  const auto of = both();
  ASSERT_TRUE(of);
  const auto halves = explain(*of, asked(*of, "copy_out", {"host_path=a", "guest_path=/a", "bytes=unknown"}));
  ASSERT_EQ(halves.size(), 2U);
  EXPECT_EQ(questions::said(deciding(halves).judgement), "deny small");
  EXPECT_EQ(deciding(halves).judgement.unknown, std::vector<std::string>{"bytes"});
  const auto json = canonical(to_json(halves));
  EXPECT_NE(json.find("\"unknown\":[\"bytes\"]"), std::string::npos) << json;
}

TEST(PolicyExplain, GivesTextOfOthersNoLineOfItsOwn) {
  const auto of =
      anatomy({std::string(kUser) + "  sly: { deny: start, why: \"x\\n  tier org `o`: allow\" }\n"});
  ASSERT_TRUE(of);
  const auto text = to_text(explain(*of, asked(*of, "start", {"command=ls"})));
  EXPECT_EQ(text.find("\n  tier org"), std::string::npos) << text;
}

TEST(PolicyWhoCan, GoesThroughTheSubjectsOfAllTiers) {
  const auto of = both();
  ASSERT_TRUE(of);
  Diagnostics found;
  yaml::Node none;
  none.kind = yaml::Node::Kind::map;
  const auto rows = who_can(*of, "destroy", none, {}, {"q", &found});
  ASSERT_TRUE(rows);
  EXPECT_EQ(to_text(*rows),
            "alice         ask    end  f0.yaml:16:3\n"
            "bob           deny   default\n"
            "terminal      allow  end-here  f0.yaml:17:3\n"
            "anybody else  deny   default\n");
  state(none, "as", stated_value("as", "bob"));
  EXPECT_FALSE(who_can(*of, "destroy", none, {}, {"q", &found}));
  EXPECT_TRUE(found.has_errors());
}

TEST(PolicyTestRun, TellsEachOutcomeAndTheRulesWithoutATest) {
  const std::vector<Source> sources{{"t.yaml",
                                     std::string(kUser) + R"(tests:
  - { call: create, expect: allow make }
  - { title: "two\nlines", call: create, network: nat, expect: allow }
)",
                                     {}}};
  const auto studied = study(sources);
  ASSERT_TRUE(studied.anatomy);
  EXPECT_FALSE(studied.compiled.program);
  const auto run = run_all_tests(*studied.anatomy);
  EXPECT_EQ(run.failures(), 1U);
  ASSERT_EQ(run.checks.size(), 3U);
  std::vector<std::string> without;
  for (const auto& rule : run.not_covered) without.push_back(rule.id);
  EXPECT_EQ(without, (std::vector<std::string>{"make-web", "bring", "take", "small", "use", "end", "end-here",
                                               "images"}));
  const auto json = canonical(to_json(run, studied.compiled));
  EXPECT_NE(json.find("\"findings\":[{\"code\":\"P0150\""), std::string::npos) << json;
  const auto text = to_text(run);
  EXPECT_NE(text.find("pass  t.yaml:20:5: { call: create, expect: allow make }\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("FAIL  t.yaml:21:5: two\\nlines\n"), std::string::npos) << text;
  EXPECT_NE(text.find("2 passed, 1 failed; 2 of 10 rules have a test or example\n"), std::string::npos)
      << text;
}

struct Word {
  std::vector<std::string> words;
  const char* flow;  // empty: refused
};

TEST(PolicyStatements, AreReadFromWords) {
  const std::vector<Word> table{
      {{"network=web"}, "{ network: web }"},
      {{"command=echo a=b, c: {d}"}, "{ command: \"echo a=b, c: {d}\" }"},
      {{"command=true"}, "{ command: \"true\" }"},
      {{"bytes=unknown", "files=3"}, "{ bytes: unknown, files: 3 }"},
      {{"{ network: web, sandbox: { labels: [x] } }"}, "{ network: web, sandbox: { labels: [x] } }"},
      {{"sandbox.labels=a,b", "sandbox.network=nat"}, "{ sandbox: { labels: [a, b], network: nat } }"},
      {{"settings.web=true"}, "{ settings: { web: true } }"},
      {{"network=web", "network=nat"}, ""},
      {{"netwrok=web"}, ""},
      {{"{ a"}, ""},
      {{"a.b.c.d=1"}, ""},
  };
  for (const auto& row : table) {
    Diagnostics found;
    const auto map = read_statements(row.words, {"q", &found});
    EXPECT_EQ(map ? yaml::statement(*map) : "", row.flow) << row.words.front();
    EXPECT_EQ(map.has_value(), !found.has_errors()) << row.words.front();
  }
}

}  // namespace
}  // namespace policy
