// What the policy reference says of the language: names that do not exist, all errors in one run, facts that
// an action does not have, tests and examples at every load.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "policy/compile.h"
#include "policy/facts.h"
#include "policy/finding_report.h"
#include "policy/program.h"
#include "policy/stated_question.h"
#include "tests/policy/dice.h"

namespace policy {
namespace {

const std::string kHead = "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n";

Compiled compiled(const std::string& text) {
  const std::vector<Source> sources{{"p.yaml", text, {}}};
  return compile(sources);
}

// How many letters are put in, left out, exchanged or swapped with the next.
std::size_t slips(const std::string& from, const std::string& to) {
  std::vector<std::vector<std::size_t>> least(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      auto& here = least[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      here = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                       least[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        here = std::min(here, least[i - 2][j - 2] + 1);
    }
  }
  return least[from.size()][to.size()];
}

std::string slipped(Dice& dice, std::string word) {
  const auto at = dice.below(word.size());
  switch (dice.below(4)) {
    case 0:
      return word.erase(at, 1);
    case 1:
      return word.insert(at, 1, 'q');
    case 2:
      word[at] = 'q';
      return word;
    default:
      if (at + 1 < word.size()) std::swap(word[at], word[at + 1]);
      return word;
  }
}

// A place where a name stands, for which `@` does; and the names that may stand there.
struct Slot {
  std::string what;
  std::string body;
  std::string code;
  std::vector<std::string> names;
};

std::vector<Slot> slots() {
  std::vector<Slot> all{
      {"section",
       "@: {}\n",
       "P0107",
       {"sets", "subjects", "actions", "input", "vmrun", "limits", "tests", "waivers"}},
      {"effect", "actions: { r: { @: run } }\n", "P0107", {"allow", "deny"}},
      {"key of a rule",
       "actions: { r: { deny: run, @: x } }\n",
       "P0107",
       {"unless", "hint", "examples", "shadow", "sandbox", "when", "clamp"}},
      {"fact of a sandbox",
       "actions: { r: { deny: run, sandbox: { @: x } } }\n",
       "P0107",
       {"network", "labels"}},
      {"matcher", "actions: { r: { deny: create, network: { @: web } } }\n", "P0107", {"equals"}},
      {"word", "actions: { r: { deny: create, network: @ } }\n", "P0128", {"none", "web", "nat"}},
      {"set",
       "sets: { secret-files: { paths: [a] } }\nactions: { r: { deny: copy_in, host_path: \"transfer:$@\" } "
       "}\n",
       "P0111",
       {"secret-files"}},
      {"kind of a set", "sets: { s: { @: [a] } }\n", "P0107", {"paths", "words", "hosts", "cidrs"}},
      {"subject",
       "subjects: { developers: { uid: 1 }, terminal: { uid: 2 } }\nactions: { r: { deny: run, for: @ } }\n",
       "P0112",
       {"developers", "terminal"}},
      {"subject that answers",
       "subjects: { developers: { uid: 1 } }\nactions: { r: { ask: run, who: @ } }\n",
       "P0112",
       {"developers"}},
      {"key of a subject", "subjects: { s: { @: x } }\n", "P0107", {"transport", "os_user", "client"}},
      {"transport", "subjects: { s: { transport: @ } }\n", "S0108", {"stdio", "http"}},
      {"vmrun command", "vmrun: { v: { deny: @ } }\n", "P0110", {"start", "captureScreen", "clone"}},
      {"meter",
       "limits: { l: { @: 3, per: session } }\n",
       "P0107",
       {"sandboxes", "sandbox_age", "calls", "jobs", "copy_bytes", "copy_files"}},
      {"whom a limit counts", "limits: { l: { sandboxes: 3, per: @ } }\n", "S0108", {"subject", "session"}},
      {"rule that is lifted",
       "actions: { no-secrets: { deny: run } }\nwaivers: { w: { lift: @, when: { settings.web: true }, "
       "until: "
       "2199-01-01, reason: x } }\n",
       "P0171",
       {"no-secrets"}},
      {"lowered fact", "actions: { r: { allow: run, clamp: { @: 1m } } }\n", "P0107", {"timeout"}},
      {"expected effect", "tests: [ { call: list, expect: @ } ]\n", "P0152", {"allow", "deny"}},
      {"key of a test", "tests: [ { call: list, expect: deny, @: x } ]\n", "P0107", {"title", "settings"}},
      {"setting of a test",
       "tests: [ { call: list, expect: deny, settings: { @: true } } ]\n",
       "P0107",
       {"remote_input"}},
      {"subject of a test",
       "subjects: { terminal: { uid: 2 } }\ntests: [ { call: list, expect: deny, as: @ } ]\n",
       "P0112",
       {"terminal"}},
  };
  Slot action{"action", "actions: { r: { deny: @ } }\n", "P0110", {}}, call = action;
  call.what = "action of a test";
  call.body = "tests: [ { call: @, expect: deny } ]\n";
  for (const auto& word : action_words()) {
    action.names.emplace_back(word.name);
    if (word.name != "any") call.names.emplace_back(word.name);
  }
  all.push_back(action);
  all.push_back(call);
  Slot setting{"setting", "actions: { r: { deny: list, when: { @: true } } }\n", "P0113", {}};
  for (const auto& [name, value] : known_settings()) setting.names.push_back("settings." + name);
  all.push_back(setting);
  for (const auto& info : fact_table()) {
    if (info.name.find('.') != std::string_view::npos) continue;
    for (const auto& word : action_words()) {
      if ((word.actions & info.actions) != word.actions) continue;
      const std::string name(info.name), of(word.name);
      all.push_back({name + " of " + of, "actions: { r: { deny: " + of + ", @: x } }\n", "P0107", {name}});
      if (std::ranges::find(statement_keys(), info.name) == statement_keys().end()) continue;
      all.push_back({name + " in a test of " + of,
                     "tests: [ { call: " + of + ", expect: deny, @: x } ]\n",
                     "P0107",
                     {name}});
    }
  }
  return all;
}

// Every name of the language, misspelt by one slip or two, is refused with a name that is as near to what was
// written.
TEST(Statement02Names, AMisspeltNameIsRefusedWithTheNearestOne) {
  Dice dice(201);
  int refused = 0;
  for (const auto& slot : slots()) {
    for (const auto& name : slot.names) {
      for (int round = 0; round < 12; ++round) {
        auto typed = slipped(dice, name);
        if (round % 3 == 0 && !typed.empty()) typed = slipped(dice, typed);
        const auto distance = slips(name, typed);
        // Two slips at one place may come to three; and what is mostly other letters has no nearest name.
        if (distance == 0 || distance > 2 || distance >= std::min(name.size(), typed.size())) continue;
        auto text = kHead + slot.body;
        text.replace(text.find('@'), 1, typed);
        SCOPED_TRACE(slot.what + ": " + typed + " for " + name);
        const auto result = compiled(text);
        const auto found =
            std::find_if(result.diagnostics.begin(), result.diagnostics.end(), [&](const Diagnostic& one) {
              return one.code == slot.code && one.message.find(typed) != std::string::npos;
            });
        ASSERT_EQ(result.program, nullptr);
        ASSERT_NE(found, result.diagnostics.end()) << result.error().message;
        const std::string asks = "did you mean `";
        const auto at = found->message.find(asks);
        ASSERT_NE(at, std::string::npos) << found->message;
        const auto from = at + asks.size();
        const auto suggested = found->message.substr(from, found->message.find('`', from) - from);
        EXPECT_LE(slips(suggested, typed), distance) << found->message;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 800);
}

TEST(Statement02Names, ANameThatIsNearToNoneIsRefusedWithoutASuggestion) {
  for (const auto& slot : slots()) {
    auto text = kHead + slot.body;
    text.replace(text.find('@'), 1, "zzzzzzzzzzzz");
    const auto result = compiled(text);
    // Who is to answer may be described later, and until then nobody is.
    const bool later = slot.what == "subject that answers";
    EXPECT_EQ(result.program != nullptr, later) << slot.what;
    for (const auto& found : result.diagnostics)
      EXPECT_EQ(found.message.find("did you mean"), std::string::npos) << found.message;
  }
}

TEST(Statement03Report, AllErrorsOfAllFilesStandInTextJsonAndSarif) {
  const std::vector<Source> sources{
      {"a.yaml", kHead + "actions:\n  r: { alow: run }\n  s: { allow: rnu }\n", {}},
      {"b.yaml", kHead + "limits:\n  l: { jobs: many }\n", {}},
      {"c d.yaml", "deny: no\n", {}},
  };
  const auto result = compile(sources);
  std::vector<std::string> found, text, json, sarif;
  for (const auto& one : result.diagnostics) {
    found.push_back(one.where() + " " + one.code);
    text.push_back(one.file + " " + std::to_string(one.at.line) + " " + std::to_string(one.at.column) + " " +
                   one.code + " " + one.message);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"a.yaml:6:3 P0120", "a.yaml:6:8 P0107", "a.yaml:7:15 P0110",
                                             "b.yaml:6:14 S0104", "c d.yaml:1:7 Y0118"}));
  EXPECT_EQ(result.error().code, "config.policy");
  EXPECT_EQ(result.error().where, "a.yaml:6:3");
  EXPECT_NE(result.error().message.find("(and 4 more)"), std::string::npos);

  const auto member = [](const Json& of, const char* key) { return *of.find(key); };
  const auto word = [&](const Json& of, const char* key) {
    return std::get<std::string>(member(of, key).value());
  };
  const auto number = [&](const Json& of, const char* key) {
    return std::to_string(std::get<std::int64_t>(member(of, key).value()));
  };
  const auto list = [&](const Json& of, const char* key) {
    return std::get<Json::Array>(member(of, key).value());
  };
  for (const auto& one : list(findings_json(result), "findings")) {
    EXPECT_EQ(word(one, "severity"), "error");
    json.push_back(word(one, "file") + " " + number(one, "line") + " " + number(one, "column") + " " +
                   word(one, "code") + " " + word(one, "message"));
  }
  EXPECT_EQ(json, text);
  for (const auto& one : list(list(findings_sarif(result, "1"), "runs").front(), "results")) {
    EXPECT_EQ(word(one, "level"), "error");
    const auto place = member(list(one, "locations").front(), "physicalLocation");
    const auto region = member(place, "region");
    auto file = word(member(place, "artifactLocation"), "uri");
    if (file == "c%20d.yaml") file = "c d.yaml";
    sarif.push_back(file + " " + number(region, "startLine") + " " + number(region, "startColumn") + " " +
                    word(one, "ruleId") + " " + word(member(one, "message"), "text"));
  }
  EXPECT_EQ(sarif, text);
}

// A value of the kind that a fact asks for, which a rule that refuses may have.
std::string value_for(const FactInfo& info) {
  switch (info.kind) {
    case FactKind::word:
      return std::string(info.choices.front());
    case FactKind::text:
      return info.fact == Fact::method ? "GET" : "x";
    case FactKind::number:
      return "{ min: 1 }";
    case FactKind::size:
      return "{ min: 1B }";
    case FactKind::duration:
      return "{ min: 1s }";
    case FactKind::host_path:
      return "\"transfer:a\"";
    case FactKind::guest_path:
      return "/a";
    case FactKind::labels:
      return "[x]";
    case FactKind::host:
      return "example.org";
    case FactKind::url_path:
      return "/a";
    case FactKind::addresses:
      return "10.0.0.0/8";
  }
  return {};
}

// Each fact with each action: a rule is taken where all its actions have the fact, and refused elsewhere.
TEST(Statement07Facts, ARuleAboutWhatItsActionDoesNotHaveIsRefused) {
  int taken = 0, refused = 0;
  for (const auto& info : fact_table()) {
    for (const auto& word : action_words()) {
      const auto dot = info.name.find('.');
      auto asked =
          std::string(info.name.substr(dot == std::string_view::npos ? 0 : dot + 1)) + ": " + value_for(info);
      if (dot != std::string_view::npos) asked = "sandbox: { " + asked + " }";
      const bool web = (word.actions & web_actions()).any();
      const auto actions = web ? web_actions() : word.actions;
      const auto named =
          web ? "web: { r: { deny: any, " : "actions: { r: { deny: [" + std::string(word.name) + "], ";
      const auto text = kHead + named + asked + " } }\n";
      const auto result = compiled(text);
      SCOPED_TRACE(text);
      if ((actions & info.actions) == actions) {
        EXPECT_TRUE(result.program) << result.error().message;
        ++taken;
        continue;
      }
      EXPECT_EQ(result.program, nullptr);
      ASSERT_FALSE(result.diagnostics.empty());
      EXPECT_EQ(result.diagnostics.front().code, "P0114");
      ++refused;
    }
  }
  EXPECT_GT(taken, 60);
  EXPECT_GT(refused, 200);
}

std::string shipped(const std::string& name) {
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/policies/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Each test of the shipped policies, turned round, refuses the file at its place.
TEST(Statement08Tests, OneThatFailsLeavesNoProgram) {
  int turned = 0;
  for (const auto* name :
       {"default.yaml", "locked-down.yaml", "read-only.yaml", "ci.yaml", "outbound-quarantine.yaml"}) {
    const auto good = shipped(name);
    ASSERT_TRUE(compiled(good).program) << name;
    const std::string key = "expect: ", map = "{ effect: ";
    for (auto at = good.find(key); at != std::string::npos; at = good.find(key, at + 1)) {
      auto effect = at + key.size();
      if (good.compare(effect, map.size(), map) == 0) effect += map.size();
      const bool allows = good.compare(effect, 5, "allow") == 0, asks = good.compare(effect, 3, "ask") == 0;
      ASSERT_TRUE(allows || asks || good.compare(effect, 4, "deny") == 0) << good.substr(effect, 10);
      auto text = good;
      text.replace(effect, allows ? 5 : asks ? 3 : 4, allows ? "deny" : "allow");
      const auto result = compiled(text);
      EXPECT_EQ(result.program, nullptr);
      ASSERT_EQ(result.diagnostics.size(), 1U);
      EXPECT_EQ(result.diagnostics.front().code, "P0150");
      const auto test = static_cast<std::ptrdiff_t>(good.rfind("\n  - ", at));
      EXPECT_EQ(result.diagnostics.front().at.line, 2 + std::count(good.begin(), good.begin() + test, '\n'));
      ++turned;
    }
  }
  EXPECT_GT(turned, 30);
}

TEST(Statement08Tests, AnExampleThatFailsLeavesNoProgram) {
  const auto with = [](const std::string& examples) {
    return compiled(
        kHead +
        "actions:\n  all: { allow: copy_in }\n  no: { deny: copy_in, host_path: \"transfer:**/.env\", "
        "examples: " +
        examples + " }\n");
  };
  EXPECT_TRUE(with("{ deny: [a/.env, .env], pass: [a/env] }").program);
  for (const auto* bad : {"{ deny: [a/.env, env] }", "{ deny: [.env], pass: [b/.env] }"}) {
    const auto result = with(bad);
    EXPECT_EQ(result.program, nullptr) << bad;
    ASSERT_EQ(result.diagnostics.size(), 1U);
    EXPECT_EQ(result.diagnostics.front().code, "P0151");
  }
}

}  // namespace
}  // namespace policy
