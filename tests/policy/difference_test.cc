// Two policies side by side: what is said otherwise, and calls that became possible.
#include "policy/difference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace policy {
namespace {

constexpr std::string_view kHead = "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n";

std::unique_ptr<const Anatomy> anatomy(std::string_view body) {
  const std::vector<Source> sources{{"p.yaml", std::string(kHead) + std::string(body), {}}};
  auto studied = study(sources);
  for (const auto& found : studied.compiled.diagnostics) ADD_FAILURE() << found.format();
  return std::move(studied.anatomy);
}

struct Row {
  const char* name;
  const char* before;
  const char* after;
  std::vector<std::string> witnesses;
};

TEST(Statement12Diff, FindsACallForEachWidening) {
  const std::vector<Row> table{
      {"nothing changed", "actions: { r: { allow: list } }", "actions: { r: { allow: list } }", {}},
      {"a word more",
       "actions: { r: { allow: create, network: none } }",
       "actions: { r: { allow: create, network: [none, nat] } }",
       {"{ call: create, network: nat, expect: allow r }"}},
      {"a word less",
       "actions: { r: { allow: create, network: [none, nat] } }",
       "actions: { r: { allow: create, network: none } }",
       {}},
      {"a refusal less",
       "actions: { r: { allow: create }, no: { deny: create, network: web } }",
       "actions: { r: { allow: create } }",
       {"{ call: create, network: web, expect: allow r }"}},
      {"for somebody, and then for all",
       "subjects: { oncall: { os_user: sam } }\nactions: { r: { allow: list, for: oncall } }",
       "subjects: { oncall: { os_user: sam } }\nactions: { r: { allow: list } }",
       {"{ call: list, expect: allow r }"}},
      {"a label less",
       "actions: { r: { allow: screenshot, sandbox: { labels: [x] } } }",
       "actions: { r: { allow: screenshot } }",
       {"{ call: screenshot, expect: allow r }"}},
      {"a bound by one",
       "actions: { r: { allow: copy_in, bytes: { max: 1MiB } } }",
       "actions: { r: { allow: copy_in, bytes: { max: 1048577B } } }",
       {"{ call: copy_in, bytes: 1048577B, expect: allow r }"}},
      {"a setting less",
       "actions: { r: { allow: click, when: { settings.remote_input: true } } }",
       "actions: { r: { allow: click } }",
       {"{ call: click, expect: allow r }"}},
      {"asked, and then not",
       "actions: { r: { ask: destroy } }",
       "actions: { r: { allow: destroy } }",
       {"{ call: destroy, expect: allow r }"}},
      {"a folder more",
       "actions: { r: { allow: copy_in, host_path: \"transfer:src/**\" } }",
       "actions: { r: { allow: copy_in, host_path: [\"transfer:src/**\", \"transfer:doc/**\"] } }",
       {"{ call: copy_in, host_path: doc/x, expect: allow r }"}},
      {"names with a dot",
       "actions: { r: { allow: copy_in, host_path: \"transfer:a/**\" } }",
       "actions: { r: { allow: copy_in, host_path: { path: \"transfer:a/**\", dotfiles: true } } }",
       {"{ call: copy_in, host_path: a/.x, expect: allow r }"}},
      {"an exception",
       "actions: { r: { allow: run }, no: { deny: run, command: { glob: \"*sudo*\" } } }",
       "actions: { r: { allow: run }, no: { deny: run, command: { glob: \"*sudo*\" }, unless: { for: a } } "
       "}\n"
       "subjects: { a: { os_user: alice } }",
       {"{ call: run, as: a, command: sudo, expect: allow r }"}},
      {"a label",
       "actions: { r: { allow: run }, no: { deny: run, sandbox: { labels: [x, z] } } }",
       "actions: { r: { allow: run }, no: { deny: run, sandbox: { labels: { all: [x, z] } } } }",
       {"{ call: run, sandbox: { labels: [x] }, expect: allow r }"}},
      {"less lowered",
       "actions: { r: { allow: run, clamp: { timeout: 10m } } }",
       "actions: { r: { allow: run, clamp: { timeout: 1h } } }",
       {"{ call: run, timeout: 601s, expect: allow r }"}},
      {"vmrun",
       "vmrun: { v: { deny: captureScreen } }",
       "tests: []",
       {"{ call: vmrun, verb: captureScreen, expect: allow builtin:vmrun }"}},
  };
  for (const auto& row : table) {
    const auto before = anatomy(row.before), after = anatomy(row.after);
    ASSERT_TRUE(before && after) << row.name;
    const auto found = difference(*before, *after);
    std::vector<std::string> statements;
    for (const auto& witness : found.search.found) statements.push_back(witness.statement);
    EXPECT_EQ(statements.size(), row.witnesses.size()) << row.name;
    EXPECT_EQ(statements, row.witnesses) << row.name;
    EXPECT_EQ(found.widens(), !row.witnesses.empty()) << row.name;
    if (statements.empty()) continue;
    // Each can be pasted: the new policy passes it, and the old one does not.
    std::string tests = "\ntests:\n";
    for (const auto& statement : statements) tests += "  - " + statement + "\n";
    const std::string_view body = row.after;
    if (body.find("tests:") == std::string_view::npos) {
      EXPECT_TRUE(anatomy(std::string(body) + tests)) << row.name;
    }
  }
}

TEST(PolicyDiff, TellsWhatIsWrittenOtherwise) {
  const auto before = anatomy(
      "sets: { s: { words: [a] } }\nactions: { r: { allow: list, examples: { pass: [ { call: create } ] } }, "
      "q: { "
      "allow: create } }\nlimits: { l: { jobs: 8 }, m: { calls: 3/1m, per: everyone } }");
  const auto after = anatomy(
      "sets: { s: { words: [a, b] } }\nactions: { r: { allow: list }, p: { deny: create } }\nlimits: { l: { "
      "jobs: 9 "
      "}, m: { calls: 2/1m, per: everyone } }");
  ASSERT_TRUE(before && after);
  const auto found = difference(*before, *after);
  std::vector<std::string> told;
  for (const auto& change : found.changes) {
    told.push_back(change.kind + " " + change.id + ": " + change.was + " -> " + change.is +
                   (change.widens ? " widens" : ""));
  }
  EXPECT_EQ(told, (std::vector<std::string>{
                      "limit l: { jobs: 8 } -> { jobs: 9 } widens",
                      "limit m: { calls: 3/1m, per: everyone } -> { calls: 2/1m, per: everyone }",
                      "rule p:  -> { deny: create }",
                      "rule q: { allow: create } -> ",
                      "set s: { words: [a] } -> { words: [a, b] }",
                  }));
  EXPECT_TRUE(found.widens());
  const auto text = to_text(found);
  EXPECT_NE(text.find("no call was found that became possible"), std::string::npos) << text;
  EXPECT_NE(text.find("may still have become possible"), std::string::npos) << text;
}

// What no single call shows.
TEST(PolicyDiff, CountsWhatIsNoLongerMarkedAndWhatIsSentAsWidening) {
  const std::string secrets = "secrets: { s: { host: a.org, method: GET, path: /a } }\n";
  const auto sends = [&](const std::string& more) {
    return secrets + "web: { r: { allow: GET, host: a.org, tls: inspect" + more + " } }\n";
  };
  struct {
    std::string before, after;
    bool widens;
  } const table[]{
      {"actions: { r: { allow: run, label: [p, q] } }", "actions: { r: { allow: run, label: q } }", true},
      {"actions: { r: { allow: run, label: q } }", "actions: { r: { allow: run, label: [p, q] } }", false},
      {"actions: { r: { allow: run, label: q } }", "actions: { r: { deny: run } }", false},
      {sends(""), sends(", inject: s"), true},
      {sends(", inject: s"), sends(""), false},
      {sends(", inject: s"), sends(", inject: s, why: so"), false},
      {"", secrets, true},
      {secrets, "secrets: { s: { hosts: [A.org.], methods: [GET], port: 443, path: /a, why: so } }\n", false},
      {"sets: { h: { hosts: a.org } }\nsecrets: { s: { hosts: $h, method: GET, path: /a } }\n",
       "sets: { h: { hosts: [a.org, b.org] } }\nsecrets: { s: { hosts: $h, method: GET, path: /a } }\n",
       true},
      {"actions: { r: { allow: run, label: p }, q: { allow: run } }", "actions: { q: { allow: run } }", true},
      {"actions: { r: { allow: run, label: p } }",
       "actions: { r: { allow: run }, q: { allow: run, label: p } }", false},
      {"web: { r: { allow: any, hosts: any }, d: { deny: any, cidrs: 8.0.0.0/8 } }",
       "web: { r: { allow: any, hosts: any } }", true},
      {secrets, "", false},
      {secrets, "secrets: { s: { host: a.org, method: GET, path: \"/**\" } }\n", true},
      {"web: { r: { allow: any, host: a.org }, d: { deny: any, cidrs: 8.0.0.0/8 } }",
       "web: { r: { allow: any, host: a.org }, d: { deny: any, cidrs: 8.0.0.0/9 } }", true},
      {"web: { r: { allow: any, host: a.org }, d: { deny: any, cidrs: 8.0.0.0/9 } }",
       "web: { r: { allow: any, host: a.org }, d: { deny: any, cidrs: 8.0.0.0/8 } }", false},
  };
  for (const auto& [before, after, widens] : table) {
    const auto was = anatomy(before), is = anatomy(after);
    ASSERT_TRUE(was && is);
    EXPECT_EQ(difference(*was, *is).widens(), widens) << before << "\n"
                                                      << after << "\n"
                                                      << to_text(difference(*was, *is));
  }
}

// Among many rules the one that differs is found.
TEST(PolicyDiff, FindsOneFolderMoreAmongManyRules) {
  std::string rules = "actions:\n";
  for (int i = 0; i < 200; ++i) {
    rules += "  r" + std::to_string(i) + ": { allow: copy_in, host_path: \"transfer:f" + std::to_string(i) +
             "/**\", guest_path: \"/tmp/**\", bytes: { max: " + std::to_string(i + 1) + "KiB } }\n";
  }
  const auto before = anatomy(rules);
  const auto after = anatomy(rules + "  more: { allow: copy_in, host_path: \"transfer:secret/**\" }\n");
  ASSERT_TRUE(before && after);
  const auto found = difference(*before, *after);
  EXPECT_FALSE(found.search.complete);
  ASSERT_EQ(found.search.found.size(), 1U);
  EXPECT_EQ(found.search.found.front().statement,
            "{ call: copy_in, host_path: secret/x, expect: allow more }");
}

TEST(PolicyDiff, SaysWhenASubjectIsGone) {
  const auto before = anatomy(
      "subjects: { chatty: { client: x } }\nactions: { r: { allow: create }, no: { deny: create, for: chatty "
      "} }");
  const auto after = anatomy("actions: { r: { allow: create } }");
  ASSERT_TRUE(before && after);
  const auto found = difference(*before, *after);
  ASSERT_EQ(found.search.found.size(), 1U);
  EXPECT_TRUE(found.search.found.front().subject_gone);
}

TEST(PolicyDiff, OtherPeopleWiden) {
  const std::string dev = "subjects: { dev: { os_user: [sam] }, eve: { os_user: eve } }\n";
  const std::string more = "subjects: { dev: { os_user: [sam, tom] }, eve: { os_user: eve } }\n";
  const std::string rule = "actions: { r: { ask: list, who: dev } }";
  EXPECT_TRUE(difference(*anatomy(dev + rule), *anatomy(more + rule)).widens());
  EXPECT_TRUE(
      difference(*anatomy(dev + rule), *anatomy(dev + "actions: { r: { ask: list, who: eve } }")).widens());
  EXPECT_FALSE(difference(*anatomy(dev + rule), *anatomy(dev + rule)).widens());
  EXPECT_FALSE(difference(*anatomy(dev + rule), *anatomy(dev + "actions: { r: { deny: list } }")).widens());
}

}  // namespace
}  // namespace policy
