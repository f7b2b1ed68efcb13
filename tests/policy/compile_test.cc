#include "policy/compile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/policy/mistakes.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace mistakes;
using namespace questions;
using std::chrono::seconds;

std::shared_ptr<const Program> program(std::string_view body) {
  auto result = compiled(body);
  for (const auto& found : result.diagnostics) ADD_FAILURE() << found.format();
  return result.program;
}

class PolicyMistake : public testing::TestWithParam<Mistake> {};

// Everything a compiler has to refuse.
TEST_P(PolicyMistake, IsToldAtItsPlace) { expect_told(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Table, PolicyMistake,
    testing::Values(
        Mistake{"unknown_section", "acions: {}\n", "P0107", {5, 1}, "did you mean `actions`?"},
        Mistake{"unknown_key",
                "actions:\n  r: { alow: run }\n",
                "P0120",
                {6, 3},
                "exactly one of allow, ask, deny"},
        Mistake{"misspelt_effect_beside_one",
                "actions:\n  r: { deny: run, efect: x }\n",
                "P0107",
                {6, 19},
                "unknown key `efect` in rule `r`"},
        Mistake{"shadow_that_is_no_word",
                "actions:\n  r: { deny: run, shadow: maybe }\n",
                "S0103",
                {6, 27},
                "must be `true` or `false`"},
        Mistake{"shadow_in_vmrun",
                "vmrun:\n  r: { deny: captureScreen, shadow: true }\n",
                "P0170",
                {6, 29},
                "`shadow` is for rules of `actions`"},
        Mistake{"burst_of_no_rate",
                "limits:\n  r: { jobs: 3, burst: 2 }\n",
                "P0142",
                {6, 17},
                "`burst` belongs to a rate"},
        Mistake{"burst_of_none",
                "limits:\n  r: { calls: 3/1m, burst: 0, per: session }\n",
                "S0105",
                {6, 28},
                "from 1 to"},
        Mistake{"shadow_in_limits",
                "limits:\n  r: { jobs: 3, shadow: true }\n",
                "P0170",
                {6, 17},
                "`shadow` is for rules of `actions`"},
        Mistake{"misspelt_matcher",
                "actions:\n  r: { deny: create, netwrok: nat }\n",
                "P0107",
                {6, 22},
                "did you mean `network`?"},
        Mistake{"far_off_key",
                "actions:\n  r: { deny: create, colour: nat }\n",
                "P0107",
                {6, 22},
                "unknown key `colour` in rule `r`"},
        Mistake{"unknown_action",
                "actions:\n  r: { allow: [run, sceenshot] }\n",
                "P0110",
                {6, 21},
                "did you mean `screenshot`?"},
        Mistake{"a_list_without_commas",
                "actions:\n  r: { allow: [list run] }\n",
                "P0110",
                {6, 16},
                "commas stand between"},
        Mistake{"a_fact_of_other_actions",
                "actions:\n  r: { allow: copy_out, command: { glob: x } }\n",
                "P0114",
                {6, 25},
                "ask by what these have: `host_path`"},
        Mistake{"tool_name_for_action",
                "actions:\n  r: { allow: sandbox_run }\n",
                "P0110",
                {6, 15},
                "there is no action"},
        Mistake{"argument_of_another_action",
                "actions:\n  r: { deny: [copy_in, run], host_path: \"transfer:a\" }\n",
                "P0114",
                {6, 30},
                "means nothing for `run`"},
        Mistake{"argument_of_no_action",
                "actions:\n  r: { allow: list, network: none }\n",
                "P0114",
                {6, 21},
                "means nothing for `list`"},
        Mistake{"unknown_setting",
                "actions:\n  r: { allow: create, when: { settings.wbe: true } }\n",
                "P0113",
                {6, 31},
                "did you mean `settings.web`?"},
        Mistake{"unknown_set",
                "sets: { secrets: { paths: [a] } }\nactions:\n  r: { deny: copy_in, host_path: "
                "\"transfer:$secret\" }\n",
                "P0111",
                {7, 34},
                "did you mean `secrets`?"},
        Mistake{"set_of_another_kind",
                "sets: { s: { words: [a] } }\nactions:\n  r: { deny: copy_in, host_path: \"transfer:$s\" }\n",
                "P0115",
                {7, 34},
                "holds words"},
        Mistake{"unknown_subject",
                "subjects: { people: { transport: cli } }\nactions:\n  r: { allow: list, for: peple }\n",
                "P0112",
                {7, 26},
                "did you mean `people`?"},
        Mistake{"self_declared_allow",
                "subjects: { x: { client: good } }\nactions:\n  r: { allow: list, for: x }\n",
                "P0125",
                {7, 26},
                "name a client gives itself"},
        Mistake{"no_root",
                "actions:\n  r: { allow: copy_in, host_path: \"src/**\" }\n",
                "P0123",
                {6, 35},
                "write `transfer:src/**`"},
        Mistake{"guest_path_not_full",
                "actions:\n  r: { allow: copy_in, guest_path: tmp/x }\n",
                "P0123",
                {6, 36},
                "must begin with `/`"},
        Mistake{"pattern_with_dots",
                "actions:\n  r: { allow: copy_in, host_path: \"transfer:../x\" }\n",
                "P0122",
                {6, 35},
                "`..`"},
        Mistake{"pattern_with_class",
                "actions:\n  r: { allow: copy_in, host_path: \"transfer:[ab]\" }\n",
                "P0122",
                {6, 35},
                "do not use"},
        Mistake{"command_as_boundary",
                "actions:\n  r: { allow: run, command: ls }\n",
                "P0124",
                {6, 20},
                "no boundary"},
        Mistake{"command_as_boundary_in_not",
                "actions:\n  r: { deny: run, not: { command: ls } }\n",
                "P0124",
                {6, 26},
                "no boundary"},
        Mistake{"command_lifting_a_deny",
                "actions:\n  r: { deny: run, unless: { command: ls } }\n",
                "P0124",
                {6, 29},
                "no boundary"},
        Mistake{"empty_actions", "actions:\n  r: { allow: [] }\n", "P0121", {6, 15}, "is empty"},
        Mistake{
            "empty_matcher", "actions:\n  r: { deny: create, network: [] }\n", "P0121", {6, 31}, "is empty"},
        Mistake{"empty_set", "sets: { s: { paths: [] } }\n", "P0121", {5, 21}, "is empty"},
        Mistake{"empty_subject", "subjects: { s: {} }\n", "P0121", {5, 16}, "says nothing"},
        Mistake{"impossible_word",
                "actions:\n  r: { deny: create, network: nta }\n",
                "P0128",
                {6, 31},
                "did you mean `nat`?"},
        Mistake{"size_without_unit",
                "actions:\n  r: { allow: copy_in, bytes: { max: 200 } }\n",
                "S0106",
                {6, 38},
                "size with its unit"},
        Mistake{"duration_without_unit",
                "actions:\n  r: { allow: run, clamp: { timeout: 600 } }\n",
                "S0107",
                {6, 38},
                "duration with its unit"},
        Mistake{"subject_named_like_everybody",
                "subjects: { system: { uid: 7 } }\nactions:\n  r: { allow: list, for: system }\n",
                "P0116",
                {5, 13},
                "means something already"},
        Mistake{"subject_of_an_empty_name",
                "subjects: { x: { os_user: [a, \"\"] } }\nactions:\n  r: { allow: list, for: x }\n",
                "P0121",
                {5, 27},
                "names nobody"},
        Mistake{"token_of_an_empty_issuer",
                "subjects: { x: { token: { issuer: \"\" } } }\nactions:\n  r: { allow: list, for: x }\n",
                "P0121",
                {5, 35},
                "names nobody"},
        Mistake{"empty_range",
                "actions:\n  r: { allow: copy_in, files: { min: 2, max: 1 } }\n",
                "P0127",
                {6, 31},
                "match nothing"},
        Mistake{"two_effects", "actions:\n  r: { allow: run, deny: run }\n", "P0120", {6, 3}, "exactly one"},
        Mistake{"clamp_of_a_deny",
                "actions:\n  r: { deny: run, clamp: { timeout: 1m } }\n",
                "P0129",
                {6, 19},
                "lowers what is allowed"},
        Mistake{"clamp_without_meaning",
                "actions:\n  r: { allow: list, clamp: { timeout: 1m } }\n",
                "P0114",
                {6, 30},
                "means nothing"},
        Mistake{"an_obligation_nothing_carries_out",
                "actions:\n  r: { allow: run, redact: [command] }\n",
                "P0134",
                {6, 20},
                "nothing here can carry out"},
        Mistake{"who_of_an_allow",
                "actions:\n  r: { allow: run, who: me }\n",
                "P0129",
                {6, 20},
                "a rule that asks"},
        Mistake{"who_of_a_word_that_is_nobody",
                "actions:\n  r: { ask: run, who: clinet }\n",
                "P0112",
                {6, 23},
                "did you mean `client`?"},
        Mistake{"rule_called_default",
                "actions:\n  default: { allow: run }\n",
                "P0105",
                {6, 3},
                "call the rule something else"},
        Mistake{"wrong_type", "actions: [run]\n", "S0101", {5, 10}, "must be a map"},
        Mistake{"boolean_as_text",
                "actions:\n  r: { allow: create, when: { settings.web: \"true\" } }\n",
                "S0103",
                {6, 45},
                "without quotes"},
        Mistake{"limit_without_meter", "limits:\n  l: { per: session }\n", "P0140", {6, 3}, "exactly one"},
        Mistake{
            "limit_without_per", "limits:\n  l: { sandboxes: 3 }\n", "P0108", {6, 6}, "needs the key `per`"},
        Mistake{"limit_senseless_per",
                "limits:\n  l: { sandboxes: 3, per: sandbox }\n",
                "P0141",
                {6, 27},
                "cannot be counted"},
        Mistake{"limit_bad_rate", "limits:\n  l: { calls: 300, per: session }\n", "S0109", {6, 15}, "300/1m"},
        Mistake{"limit_unknown_setting",
                "limits:\n  l: { sandboxes: settings.max_sandbox, per: everyone }\n",
                "P0113",
                {6, 19},
                "did you mean `max_sandboxes`?"},
        Mistake{"limit_of_wrong_setting",
                "limits:\n  l: { sandboxes: settings.web, per: everyone }\n",
                "P0113",
                {6, 19},
                "no setting"},
        Mistake{"limit_unknown_meter",
                "limits:\n  l: { sandbxes: 3, per: session }\n",
                "P0140",
                {6, 3},
                "exactly one"},
        Mistake{"vmrun_allow", "vmrun:\n  v: { allow: start }\n", "P0130", {6, 3}, "can only `deny`"},
        Mistake{"vmrun_unknown", "vmrun:\n  v: { deny: strat }\n", "P0110", {6, 14}, "did you mean `start`?"},
        Mistake{"vmrun_needed",
                "actions:\n  make: { allow: create }\nvmrun:\n  v: { deny: clone }\n",
                "P0131",
                {8, 3},
                "rule `make`"},
        Mistake{"vmrun_needed_by_any",
                "actions:\n  all: { allow: any }\nvmrun:\n  v: { deny: captureScreen }\n",
                "P0131",
                {8, 3},
                "rule `all`"},
        Mistake{"failing_test",
                "actions:\n  r: { allow: list }\ntests:\n  - { call: list, expect: deny }\n",
                "P0150",
                {8, 5},
                "got `allow r`"},
        Mistake{"failing_test_rule",
                "actions:\n  r: { allow: list }\ntests:\n  - { call: list, expect: allow x }\n",
                "P0150",
                {8, 5},
                "expected `allow x`"},
        Mistake{"failing_test_unknown",
                "actions:\n  r: { allow: copy_in, host_path: \"transfer:a\" }\ntests:\n  - { call: copy_in, "
                "expect: { effect: deny, unknown: [bytes] } }\n",
                "P0150",
                {8, 5},
                "not knowing host_path"},
        Mistake{
            "test_without_expect", "tests:\n  - { call: list }\n", "P0108", {6, 5}, "needs the key `expect`"},
        Mistake{"test_of_no_action",
                "tests:\n  - { call: lsit, expect: deny }\n",
                "P0110",
                {6, 13},
                "did you mean `list`?"},
        Mistake{"test_with_foreign_fact",
                "tests:\n  - { call: list, network: nat, expect: deny }\n",
                "P0114",
                {6, 19},
                "has no `network`"},
        Mistake{"test_with_bad_path",
                "tests:\n  - { call: copy_in, host_path: ../x, expect: deny }\n",
                "P0152",
                {6, 33},
                "is no path"},
        Mistake{"test_as_nobody",
                "tests:\n  - { call: list, as: ci, expect: deny }\n",
                "P0112",
                {6, 23},
                "no subject `ci`"},
        Mistake{
            "failing_example",
            "actions:\n  r:\n    deny: copy_in\n    host_path: \"transfer:a\"\n    examples: { deny: [b] }\n",
            "P0151",
            {9, 24},
            "does not speak"},
        Mistake{
            "failing_pass_example",
            "actions:\n  r:\n    deny: copy_in\n    host_path: \"transfer:a\"\n    examples: { pass: [a] }\n",
            "P0151",
            {9, 24},
            "let it pass"},
        Mistake{"example_of_another_effect",
                "actions:\n  r:\n    deny: copy_in\n    host_path: \"transfer:a\"\n    examples: { allow: "
                "[a] }\n",
                "P0107",
                {9, 17},
                "unknown key `allow`"}),
    [](const auto& mistake) { return mistake.param.name; });

TEST(Compile, FormatsAMessageWithItsLine) {
  const std::string text = std::string(kHead) + "actions:\n  r: { deny: create, netwrok: nat }\n";
  const std::vector<Source> sources{{"p.yaml", text, {}}};
  const auto result = compile(sources);
  ASSERT_EQ(result.diagnostics.size(), 1U);
  EXPECT_EQ(result.diagnostics[0].format(text),
            "p.yaml:6:22: error[P0107]: unknown key `netwrok` in rule `r`; did you mean `network`?\n"
            "  6 |   r: { deny: create, netwrok: nat }\n"
            "    |                      ^");
}

TEST(Compile, RefusesFilesThatDisagree) {
  const auto codes = [](std::vector<Source> sources) {
    std::vector<std::string> found;
    for (const auto& diagnostic : compile(sources).diagnostics)
      found.push_back(diagnostic.where() + " " + diagnostic.code);
    return found;
  };
  using Codes = std::vector<std::string>;
  const std::string head(kHead);
  EXPECT_EQ(codes({{"a", head + "actions: { r: { allow: run } }\n", {}},
                   {"b", head + "actions: { r: { allow: run } }\n", {}}}),
            Codes{"b:5:12 P0105"});
  EXPECT_EQ(codes({{"a", head + "actions: { r: { allow: run } }\nlimits: { r: { jobs: 1 } }\n", {}}}),
            Codes{"a:6:11 P0105"});
  EXPECT_EQ(codes({{"a", head, Tier::org}}), Codes{"a:2:7 P0102"});
  EXPECT_EQ(codes({{"a", "sallyport: policy/v2\ntier: user\ndefault: deny\n", {}}}), Codes{"a:1:12 P0101"});
  EXPECT_EQ(codes({{"a", "sallyport: policy/v1\ntier: user\ndefault: inherit\n", {}}}),
            Codes{"a:3:10 P0103"});
  EXPECT_EQ(codes({{"a", "sallyport: policy/v1\ntier: user\n", {}}}), Codes{"a:1:1 P0108"});
  EXPECT_EQ(codes({{"a", "sallyport: policy/v1\ntier: usr\ndefault: deny\n", {}}}), Codes{"a:2:7 S0108"});
  EXPECT_EQ(codes({{"a", "[1]\n", {}}}), Codes{"a:1:1 S0101"});
  EXPECT_EQ(codes({}), Codes{"policy:1:1 P0160"});
}

TEST(Statement04Default, AllowsNothing) {
  const auto empty = program("");
  ASSERT_TRUE(empty);
  for (const auto& action :
       {Action(Create{}), Action(List{}), Action(policy::Run{box(), "x", {}}), Action(Destroy{box()})}) {
    const auto judgement = judge(*empty, action);
    EXPECT_EQ(said(judgement), "deny default");
    EXPECT_EQ(judgement.code, "deny.default");
    EXPECT_EQ(judgement.rule.tier, "user");
  }
  for (const auto* text : {"", "---\n", "# nothing\n", "{}\n", "sallyport: policy/v1\n"}) {
    const std::vector<Source> sources{{"p", text, {}}};
    EXPECT_EQ(compile(sources).program, nullptr) << text;
  }
}

TEST(Program, LetsDenyWinOverAskOverAllow) {
  const auto rules = program(
      "actions:\n"
      "  a: { allow: [create, run, list] }\n"
      "  b: { ask: [create, run], why: think }\n"
      "  c: { deny: create, why: \"no\" }\n");
  EXPECT_EQ(said(judge(*rules, List{})), "allow a");
  EXPECT_EQ(said(judge(*rules, policy::Run{box(), "x", {}})), "ask b");
  const auto refused = judge(*rules, Create{});
  EXPECT_EQ(said(refused), "deny c");
  EXPECT_EQ(refused.code, "deny.rule");
  EXPECT_EQ(refused.reason, "no");
  ASSERT_EQ(refused.matched.size(), 3U);
  EXPECT_EQ(refused.matched[0].id, "a");
  EXPECT_EQ(refused.rule.where, "p.yaml:8:3");
}

TEST(Program, TellsWhatKeptARuleFromAllowing) {
  const auto rules = program(
      "actions:\n  bring: { allow: copy_in, host_path: \"transfer:src/**\", bytes: { max: 1MiB } }\n");
  const auto judgement = judge(*rules, CopyIn{box(), host("x"), guest("/x"), survey(1, 1U << 21U)});
  EXPECT_EQ(judgement.reason,
            "no rule of `t` allows `copy_in` as it is; rule `bring` would, but for `host_path`, `bytes`");
}

TEST(Program, JudgesCopyOutInTwoHalves) {
  const auto rules = program(
      "actions:\n"
      "  take: { allow: copy_out, host_path: \"transfer:out/**\", bytes: { max: 1MiB } }\n"
      "  many: { deny: copy_out, files: { min: 100 }, why: too many }\n"
      "  late: { deny: copy_out.publish, host_path: \"transfer:out/x\" }\n");
  // What only the second half can tell stops nothing in the first.
  EXPECT_EQ(said(judge(*rules, FetchOut{box(), guest("/a"), host("out/a")})), "allow take");
  EXPECT_EQ(said(judge(*rules, FetchOut{box(), guest("/a"), host("out/x")})), "allow take");
  EXPECT_EQ(said(judge(*rules, FetchOut{box(), guest("/a"), host("a")})), "deny default");
  EXPECT_EQ(said(judge(*rules, PublishOut{box(), guest("/a"), host("out/a"), survey(1, 1)})), "allow take");
  EXPECT_EQ(said(judge(*rules, PublishOut{box(), guest("/a"), host("out/a"), survey(1, 1U << 21U)})),
            "deny default");
  EXPECT_EQ(said(judge(*rules, PublishOut{box(), guest("/a"), host("out/a"), survey(100, 1)})), "deny many");
  EXPECT_EQ(said(judge(*rules, PublishOut{box(), guest("/a"), host("out/x"), survey(1, 1)})), "deny late");
}

TEST(Program, CarriesUnknownThroughNotAnyAndAll) {
  const auto rules = program(
      "actions:\n"
      "  all: { allow: [create, list] }\n"
      "  a: { deny: create, not: { when: { settings.web: true } } }\n"
      "  b: { deny: list, any: [ { when: { settings.web: true } }, { when: { settings.remote_input: true } } "
      "] }\n"
      "  c: { allow: click, not: { when: { settings.web: true } } }\n"
      "  d: { allow: type, any: [ { when: { settings.web: false } }, { when: { settings.remote_input: true } "
      "} ] }\n"
      "  e: { deny: list, unless: { when: { settings.max_sandboxes: { max: 3 } } } }\n");
  Facts known = known_settings();
  EXPECT_EQ(said(judge(*rules, Create{}, known)), "deny a");
  EXPECT_EQ(said(judge(*rules, List{}, known)), "allow all");
  EXPECT_EQ(said(judge(*rules, Click{box()}, known)), "allow c");
  EXPECT_EQ(said(judge(*rules, TypeText{box(), "x"}, known)), "allow d");
  known["web"] = true;
  EXPECT_EQ(said(judge(*rules, Create{}, known)), "allow all");
  EXPECT_EQ(said(judge(*rules, List{}, known)), "deny b");
  known["web"] = false;
  known["max_sandboxes"] = std::int64_t{4};
  EXPECT_EQ(said(judge(*rules, List{}, known)), "deny e");
  // Nothing known: whatever asks about it refuses.
  const auto blind = judge(*rules, Create{}, Facts{});
  EXPECT_EQ(said(blind), "deny a");
  EXPECT_EQ(blind.unknown, std::vector<std::string>{"settings.web"});
  EXPECT_EQ(said(judge(*rules, List{}, Facts{})), "deny b");
  EXPECT_EQ(said(judge(*rules, Click{box()}, Facts{})), "deny default");
  EXPECT_EQ(said(judge(*rules, TypeText{box(), "x"}, Facts{})), "deny default");
}

TEST(Program, MeansDotfilesOnlyWhereTheyAreMeant) {
  const auto rules = program(
      "actions:\n"
      "  plain: { allow: copy_in, host_path: \"transfer:**\" }\n"
      "  git: { allow: copy_in, host_path: { path: \"transfer:repo/**\", dotfiles: true } }\n"
      "  no: { deny: copy_in, host_path: \"transfer:**/*.pem\" }\n"
      "  outside: { allow: copy_out, host_path: { not: \"transfer:secret/*\" } }\n");
  const auto in = [&](const char* path) {
    return said(judge(*rules, CopyIn{box(), host(path), guest("/x"), survey(1, 1)}));
  };
  EXPECT_EQ(in("a/b"), "allow plain");
  EXPECT_EQ(in("."), "allow plain");
  EXPECT_EQ(in(".env"), "deny default");
  EXPECT_EQ(in("repo/.git/config"), "allow git");
  EXPECT_EQ(in("repo/.hidden.pem"), "deny no");
  // Inside `not` of an allow rule a match refuses, so it must not miss a dotfile.
  EXPECT_EQ(said(judge(*rules, FetchOut{box(), guest("/x"), host("secret/.key")})), "deny default");
}

TEST(Program, KnowsSubjects) {
  const auto rules = program(
      "subjects:\n"
      "  alice: { os_user: alice }\n"
      "  terminal: { transport: cli }\n"
      "  ids: { uid: [7, 8] }\n"
      "  loud: { client: loud-client }\n"
      "actions:\n"
      "  a: { allow: list, for: [alice, ids] }\n"
      "  b: { allow: create, for: terminal }\n"
      "  c: { deny: list, for: loud }\n"
      "  d: { deny: create, not: { for: alice } }\n");
  auto who = agent();
  EXPECT_EQ(said(judge(*rules, List{}, known_settings(), who)), "allow a");
  EXPECT_EQ(said(judge(*rules, Create{}, known_settings(), who)), "deny default");
  EXPECT_EQ(said(judge(*rules, Create{}, known_settings(), person())), "allow b");
  who.os_user = "mallory";
  EXPECT_EQ(said(judge(*rules, List{}, known_settings(), who)), "deny default");
  who.uid = 7;
  EXPECT_EQ(said(judge(*rules, List{}, known_settings(), who)), "allow a");
  who.client_name = "loud-client";
  EXPECT_EQ(said(judge(*rules, List{}, known_settings(), who)), "deny c");
  // Without a name, nobody can be told from the client that is refused, nor from one who is not alice.
  who.client_name.clear();
  EXPECT_EQ(said(judge(*rules, List{}, known_settings(), who)), "deny c");
  auto nameless = person();
  nameless.os_user.clear();
  EXPECT_EQ(said(judge(*rules, Create{}, known_settings(), nameless)), "deny d");
}

TEST(Program, AsksAboutTheSandbox) {
  const auto rules = program(
      "actions:\n"
      "  all: { allow: [run, start, stop] }\n"
      "  tainted: { deny: run, sandbox: net-tainted }\n"
      "  old: { deny: start, sandbox: { age: { min: 1h }, network: [web, nat] } }\n"
      "  both: { deny: stop, sandbox: { labels: { all: [a, b] } } }\n");
  auto request = ask(policy::Run{box(), "x", {}});
  EXPECT_EQ(said(rules->judge(request, {})), "allow all");
  request.sandbox->labels = {{"net-tainted", Tier::user}};
  EXPECT_EQ(said(rules->judge(request, {})), "deny tainted");
  request.sandbox.reset();
  EXPECT_EQ(said(rules->judge(request, {})), "deny tainted");

  request = ask(Start{box(), "x"});
  request.sandbox->age = seconds(7200);
  EXPECT_EQ(said(rules->judge(request, {})), "allow all");
  request.sandbox->network = Network::web;
  EXPECT_EQ(said(rules->judge(request, {})), "deny old");

  request = ask(Stop{box(), job()});
  request.sandbox->labels = {{"a", Tier::user}};
  EXPECT_EQ(said(rules->judge(request, {})), "allow all");
  request.sandbox->labels = {{"a", Tier::user}, {"b", Tier::user}, {"c", Tier::user}};
  EXPECT_EQ(said(rules->judge(request, {})), "deny both");
}

TEST(Program, MatchesTextToRefuseOnly) {
  const auto rules = program(
      "sets: { tools: { words: [curl, wget] } }\n"
      "actions:\n"
      "  all: { allow: [run, start] }\n"
      "  a: { deny: run, command: { glob: [\"*rm -rf*\", \"sudo *\"] } }\n"
      "  b: { deny: start, command: $tools }\n"
      "  keys: { allow: key, keys: { not: { glob: [\"ctrl+alt+*\", \"super*\"] } } }\n");
  EXPECT_EQ(said(judge(*rules, policy::Run{box(), "ls; rm -rf /", {}})), "deny a");
  EXPECT_EQ(said(judge(*rules, policy::Run{box(), "ls", {}})), "allow all");
  EXPECT_EQ(said(judge(*rules, Start{box(), "curl"})), "deny b");
  EXPECT_EQ(said(judge(*rules, Start{box(), "curl x"})), "allow all");
  EXPECT_EQ(said(judge(*rules, PressKey{box(), "ctrl+c"})), "allow keys");
  EXPECT_EQ(said(judge(*rules, PressKey{box(), "ctrl+alt+t"})), "deny default");
}

TEST(Program, ClampsToTheSmallestOfAllTiers) {
  const std::vector<Source> sources{
      {"u",
       std::string(kHead) + "actions:\n  a: { allow: run, clamp: { timeout: 10m } }\n  b: { allow: run, "
                            "clamp: { timeout: 5m } }\n",
       {}},
      {"p",
       "sallyport: policy/v1\ntier: project\ndefault: inherit\nactions:\n  c: { allow: run, clamp: { "
       "timeout: 7m } }\n",
       {}},
  };
  const auto result = compile(sources);
  ASSERT_TRUE(result.program) << result.error().message;
  auto request = ask(policy::Run{box(), "x", seconds(3600)});
  EXPECT_EQ(result.program->judge(request, {}).effect, Effect::allow);
  EXPECT_EQ(std::get<policy::Run>(request.what).timeout, seconds(300));
  request = ask(policy::Run{box(), "x", seconds(10)});
  (void)result.program->judge(request, {});
  EXPECT_EQ(std::get<policy::Run>(request.what).timeout, seconds(10));
}

TEST(Program, LetsLowerTiersOnlyNarrow) {
  const auto with = [](std::string_view org, std::string_view project, std::string_view stance) {
    const std::vector<Source> sources{
        {"org", "sallyport: policy/v1\ntier: org\nname: acme\ndefault: deny\n" + std::string(org), {}},
        {"prj",
         "sallyport: policy/v1\ntier: project\nname: shop\ndefault: " + std::string(stance) + "\n" +
             std::string(project),
         {}},
    };
    auto result = compile(sources);
    EXPECT_TRUE(result.program) << result.error().message;
    return result.program;
  };
  const std::string allow = "actions:\n  r: { allow: list }\n", ask = "actions:\n  r: { ask: list }\n",
                    deny = "actions:\n  r: { deny: list }\n", none;
  struct Row {
    std::string org, project;
    const char* stance;
    const char* answer;
    const char* tier;
  };
  const Row table[] = {
      {allow, allow, "deny", "allow r", "org"},    {allow, none, "deny", "deny default", "project"},
      {allow, none, "inherit", "allow r", "org"},  {none, allow, "inherit", "deny default", "org"},
      {deny, allow, "deny", "deny r", "org"},      {ask, allow, "deny", "ask r", "org"},
      {allow, ask, "inherit", "ask r", "project"}, {allow, deny, "inherit", "deny r", "project"},
      {ask, deny, "inherit", "deny r", "project"}, {ask, none, "deny", "deny default", "project"},
  };
  for (const auto& row : table) {
    const auto judgement = judge(*with(row.org, row.project, row.stance), List{});
    EXPECT_EQ(said(judgement), row.answer) << row.org << row.project;
    EXPECT_EQ(judgement.rule.tier, row.tier) << row.org << row.project;
  }
  EXPECT_EQ(with(allow, none, "deny")->name(), "acme+shop");
}

TEST(Program, NarrowsVmrun) {
  const auto rules = program(
      "actions:\n  l: { allow: list }\nvmrun:\n  no-screen: { deny: [captureScreen], why: no pictures }\n");
  const auto judgement = judge(*rules, Vmrun{VmrunVerb::capture_screen, "/x.vmx", {}, box()});
  EXPECT_EQ(said(judgement), "deny no-screen");
  EXPECT_EQ(judgement.reason, "no pictures");
  EXPECT_EQ(said(judge(*rules, Vmrun{VmrunVerb::start, "/x.vmx", {}, box()})), "allow builtin:vmrun");
  // What the system needs to clean up cannot be taken from it.
  const auto narrow = program("actions:\n  l: { allow: list }\nvmrun:\n  v: { deny: [stop, deleteVM] }\n");
  EXPECT_EQ(said(judge(*narrow, Vmrun{VmrunVerb::stop, "/x.vmx", {}, box()})), "deny v");
  EXPECT_EQ(said(judge(*narrow, Vmrun{VmrunVerb::stop, "/x.vmx", {}, box()}, {}, system_subject())),
            "allow builtin:own-cleanup");
}

TEST(Program, HasADigestOfWhatItSays) {
  const std::string head(kHead), more = head + "actions: { r: { allow: list } }\n";
  const auto digest = [](std::vector<Source> sources) { return compile(sources).program->digest(); };
  EXPECT_EQ(digest({{"a", head, {}}, {"b", more, {}}}), digest({{"x", more, {}}, {"y", head, {}}}));
  EXPECT_NE(digest({{"a", head, {}}}), digest({{"a", more, {}}}));
}

TEST(Limits, AreReadWithTheirUnits) {
  const auto rules = program(
      "limits:\n"
      "  a: { sandboxes: 3, per: subject }\n"
      "  b: { sandbox_age: 2h }\n"
      "  c: { calls: 300/1m, per: session }\n"
      "  d: { jobs: 8 }\n"
      "  e: { copy_bytes: 200MiB }\n"
      "  f: { copy_files: 5000 }\n");
  const auto limits = rules->limits();
  ASSERT_EQ(limits.size(), 6U);
  EXPECT_EQ(limits[0].per, Per::principal);
  EXPECT_EQ(limits[0].rule.where, "p.yaml:6:3");
  EXPECT_EQ(limits[1].max, 7200);
  EXPECT_EQ(limits[2].max, 300);
  EXPECT_EQ(limits[2].window, seconds(60));
  EXPECT_EQ(limits[3].per, Per::sandbox);
  EXPECT_EQ(limits[4].max, 200 << 20);
  EXPECT_EQ(limits[5].max, 5000);
}

}  // namespace
}  // namespace policy
