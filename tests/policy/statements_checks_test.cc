// Statement 9 of the policy reference: each kind of rule that does nothing is found, on small policies beside
// policies that differ from them in little and are as they should be; and the call that a finding shows is
// one on which the rule speaks and changes nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/policy/witnesses.h"

namespace policy {
namespace {

using namespace findings;

constexpr int kFixtures = 20;

void expect_witnesses(const std::vector<Row>& table, const std::string& code) {
  int shown = 0;
  for (const auto& row : table) {
    const auto sources = user_policy(row.rules);
    shown += expect_shown(sources, found_in(sources), code);
  }
  EXPECT_GE(shown, kFixtures);
}

// Of what matches no call there is none to show: what it asks for is named instead.
void expect_reasons(const std::vector<Row>& table) {
  int named = 0;
  for (const auto& row : table) {
    for (const auto& one : found_in(user_policy(row.rules))) {
      EXPECT_TRUE(one.message.find("no value of `") != std::string::npos ||
                  one.message.find("its `unless` holds whenever the rest does") != std::string::npos)
          << row.rules << one.message;
      ++named;
    }
  }
  EXPECT_GE(named, kFixtures);
}

TEST(Statement09Checks, ARuleThatCanNeverMatchIsFound) {
  const Codes never{"P0301 r"}, good{};
  const std::vector<Row> table{
      {"r: { allow: create, network: none, not: { network: none } }", never},
      {"r: { deny: create, network: none, not: { network: none } }", never},
      {"r: { ask: create, network: none, not: { network: none } }", never},
      {"r: { allow: create, network: none, not: { network: web } }", good},
      {"r: { allow: create, network: [none, web], all: [ { network: nat } ] }", never},
      {"r: { allow: create, network: [none, web], all: [ { network: web } ] }", good},
      {"r: { allow: create, not: { network: [none, web, nat] } }", never},
      {"r: { allow: create, not: { network: [none, web] } }", good},
      {"r: { allow: create, cpus: { min: 4 }, all: [ { cpus: { max: 3 } } ] }", never},
      {"r: { allow: create, cpus: { min: 4 }, all: [ { cpus: { max: 4 } } ] }", good},
      {"r: { allow: create, cpus: { not: { min: 2 } }, all: [ { cpus: { min: 2 } } ] }", never},
      {"r: { allow: create, cpus: { not: { min: 2 } }, all: [ { cpus: { min: 1 } } ] }", good},
      {"r: { allow: copy_in, bytes: { max: 1KiB }, not: { bytes: { max: 1KiB } } }", never},
      {"r: { allow: copy_in, bytes: { max: 1KiB }, not: { bytes: { max: 1023B } } }", good},
      {"r: { allow: copy_in, host_path: \"transfer:src/**\", all: [ { host_path: \"transfer:doc/**\" } ] }",
       never},
      {"r: { allow: copy_in, host_path: \"transfer:src/**\", all: [ { host_path: \"transfer:**/doc/**\" } ] "
       "}",
       good},
      {"r: { allow: copy_in, host_path: \"transfer:src/**\", all: [ { host_path: \"transfer:src\" } ] }",
       never},
      {"r: { allow: copy_in, host_path: \"transfer:*.txt\", all: [ { host_path: \"transfer:a/*\" } ] }",
       never},
      {"r: { allow: copy_in, host_path: \"transfer:*.txt\", all: [ { host_path: \"transfer:a*\" } ] }", good},
      {"r: { allow: copy_in, host_path: \"transfer:**\", all: [ { host_path: \"transfer:.env\" } ] }", never},
      {"r: { allow: copy_in, host_path: { path: \"transfer:**\", dotfiles: true }, all: [ { host_path: "
       "\"transfer:.env\" } ] }",
       good},
      {"r: { deny: copy_in, host_path: \"transfer:**\", all: [ { host_path: \"transfer:.env\" } ] }", good},
      {"r: { allow: copy_in, host_path: \"transfer:$secret\", not: { host_path: \"transfer:**\" } }", never},
      {"r: { allow: copy_in, guest_path: \"/tmp/**\", not: { guest_path: \"/**\" } }", never},
      {"r: { allow: copy_in, guest_path: \"/tmp/**\", not: { guest_path: \"/tmp/*/**\" } }", good},
      {"r: { allow: copy_in, guest_path: \"/tmp/**\", not: { guest_path: \"/tmp/*/*/**\" } }", good},
      {"r: { allow: list, for: alice, not: { for: alice } }", never},
      {"r: { allow: list, for: alice, not: { for: bob } }", good},
      {"r: { allow: list, for: alice, all: [ { for: bob } ] }", never},
      {"r: { allow: list, for: alice, all: [ { for: root } ] }", good},
      {"r: { allow: list, for: both, not: { for: [alice, bob] } }", never},
      {"r: { allow: list, for: cliroot, not: { any: [ { for: cli }, { for: root } ] } }", never},
      {"r: { allow: list, for: alice, unless: { for: both } }", never},
      {"r: { allow: list, for: both, unless: { for: alice } }", good},
      {"r: { deny: create, network: web, unless: { network: [web, nat] } }", never},
      {"r: { deny: create, network: [web, none], unless: { network: web } }", good},
      {"r: { allow: run, sandbox: { labels: [x] }, not: { sandbox: { labels: [x, z] } } }", never},
      {"r: { allow: run, sandbox: { labels: [x, z] }, not: { sandbox: { labels: [x] } } }", good},
      {"r: { allow: run, sandbox: { labels: { all: [x, z] } }, not: { sandbox: { labels: [x] } } }", never},
      {"r: { allow: run, sandbox: { network: web }, not: { sandbox: { network: web } } }", never},
      {"r: { allow: run, sandbox: { age: { min: 2h } }, not: { sandbox: { age: { min: 1h } } } }", never},
      {"r: { allow: click, when: { settings.web: true }, not: { when: { settings.web: true } } }", never},
      {"r: { allow: click, when: { settings.web: true }, not: { when: { settings.web: false } } }", good},
      {"r: { allow: list, not: { any: [ { when: { settings.web: true } }, { when: { settings.web: false } } "
       "] } }",
       never},
      {"r: { allow: list, when: { settings.max_age: { min: 9 } }, not: { when: { settings.max_age: { min: 5 "
       "} } } }",
       never},
      {"r: { deny: key, keys: { glob: \"ctrl+*\" }, not: { keys: { glob: \"ctrl*\" } } }", never},
      {"r: { deny: key, keys: { glob: \"ctrl*\" }, not: { keys: { glob: \"ctrl+*\" } } }", good},
      {"r: { allow: image_build, name: { glob: \"test-?\" }, all: [ { name: test-ab } ] }", never},
      {"r: { allow: image_build, name: { glob: \"test-??\" }, all: [ { name: test-ab } ] }", good},
      {"r: { allow: image_build, name: { glob: \"a*b\" }, all: [ { name: { glob: \"*c\" } } ] }", never},
      {"r: { allow: image_build, name: { glob: \"a*b\" }, all: [ { name: { glob: \"*c?\" } } ] }", good},
      {"r: { deny: copy_out, bytes: { min: 5B } }", good},
  };
  expect(table);
  expect_reasons(table);
}

TEST(Statement09Checks, ADeadAllowHasAWitness) {
  const Codes dead{"P0302 r"}, good{};
  const std::vector<Row> table{
      {"r: { allow: create, network: nat }, d: { deny: create, network: nat }", dead},
      {"r: { allow: create }, d: { deny: create, network: nat }", good},
      {"r: { allow: create, network: nat }, d: { deny: create, network: { not: none } }", dead},
      {"r: { allow: create, network: [none, nat] }, d: { deny: create, network: { not: none } }", good},
      {"r: { ask: create, network: nat }, d: { deny: create, network: nat }", dead},
      {"r: { allow: list }, d: { deny: list }", dead},
      {"r: { allow: list }, d: { deny: list, for: alice }", good},
      {"r: { allow: list, for: alice }, d: { deny: list, for: both }", dead},
      {"r: { allow: list, for: both }, d: { deny: list, for: alice }", good},
      {"r: { allow: list, for: both }, d: { deny: list, for: alice }, e: { deny: list, for: bob }", dead},
      {"r: { allow: list, for: alice }, d: { deny: list, for: cli }", good},
      {"r: { allow: [list, create] }, d: { deny: list }", good},
      {"r: { allow: [list, create] }, d: { deny: [list, create] }", dead},
      {"r: { allow: [list, create] }, d: { deny: list }, e: { deny: create }", dead},
      {"r: { allow: list }, d: { deny: list, unless: { for: alice } }", good},
      {"r: { allow: list, for: bob }, d: { deny: list, unless: { for: alice } }", dead},
      {"r: { allow: copy_in, host_path: \"transfer:web/*.env\" }, d: { deny: copy_in, host_path: "
       "\"transfer:**/*.env\" }",
       dead},
      {"r: { allow: copy_in, host_path: \"transfer:web/*\" }, d: { deny: copy_in, host_path: "
       "\"transfer:**/*.env\" }",
       good},
      {"r: { allow: copy_in, host_path: \"transfer:web/.env.local\" }, d: { deny: copy_in, host_path: "
       "\"transfer:**/.env.*\" }",
       dead},
      {"r: { allow: copy_in, host_path: \"transfer:a/b/**\" }, d: { deny: copy_in, host_path: "
       "\"transfer:a/**\" }",
       dead},
      {"r: { allow: copy_in, host_path: \"transfer:a/**\" }, d: { deny: copy_in, host_path: "
       "\"transfer:a/b/**\" }",
       good},
      {"r: { allow: copy_in, bytes: { min: 2MiB } }, d: { deny: copy_in, bytes: { min: 1MiB } }", dead},
      {"r: { allow: copy_in, bytes: { min: 1MiB } }, d: { deny: copy_in, bytes: { min: 2MiB } }", good},
      {"r: { allow: copy_in }, d: { deny: copy_in, bytes: { max: 9B } }, e: { deny: copy_in, bytes: { min: "
       "10B } }",
       dead},
      {"r: { allow: copy_in }, d: { deny: copy_in, bytes: { max: 9B } }, e: { deny: copy_in, bytes: { min: "
       "11B } }",
       good},
      {"r: { allow: copy_out }, d: { deny: copy_out, bytes: { min: 0B } }", good},
      {"r: { allow: copy_out.publish }, d: { deny: copy_out, bytes: { min: 0B } }", dead},
      {"r: { allow: run, sandbox: { labels: { all: [x, z] } } }, d: { deny: run, sandbox: { labels: [z] } }",
       dead},
      {"r: { allow: run, sandbox: { labels: [x, z] } }, d: { deny: run, sandbox: { labels: [z] } }", good},
      {"r: { allow: click, when: { settings.web: true } }, d: { deny: click, when: { settings.web: true } }",
       dead},
      {"r: { allow: click, when: { settings.web: true } }, d: { deny: click, when: { settings.web: false } }",
       good},
      {"r: { allow: image_build, name: test-a }, d: { deny: image_build, name: { glob: \"test-*\" } }", dead},
      {"r: { allow: image_build, name: { glob: \"test-a*\" } }, d: { deny: image_build, name: { glob: "
       "\"test-*\" } }",
       dead},
      {"r: { allow: image_build, name: { glob: \"test*\" } }, d: { deny: image_build, name: { glob: "
       "\"test-*\" } }",
       good},
      {"r: { allow: list }, d: { ask: list }", dead},
      {"r: { allow: run, clamp: { timeout: 1m } }, d: { ask: run }", good},
      {"r: { allow: list }, d: { ask: list, for: alice }", good},
      {"r: { allow: create, network: web }, s: { allow: create, network: none }, d: { deny: create, any: [ { "
       "network: "
       "web }, { cpus: { min: 3 } } ] }",
       dead},
      {"r: { allow: any }, d: { deny: any }", {"P0302 r", "P0304 r"}},
  };
  expect(table);
  expect_witnesses(table, "P0302");
}

TEST(Statement09Checks, AShadowedRuleHasAWitness) {
  const Codes same{"P0303 r"}, good{};
  const std::vector<Row> table{
      {"a: { allow: list }, r: { allow: list }", same},
      {"r: { allow: list, for: alice }, a: { allow: list }", same},
      // Where the path is not known the one with a path does not allow.
      {"r: { allow: copy_in, host_path: { path: \"transfer:**\", dotfiles: true } }, z: { allow: copy_in }",
       same},
      {"r: { allow: list, for: alice }, z: { allow: list, for: both }", same},
      {"r: { allow: list, for: both }, z: { allow: list, for: alice }", {"P0303 z"}},
      {"r: { allow: list, for: alice }, z: { allow: list, for: bob }", good},
      {"r: { deny: list, for: alice }, z: { deny: list, for: both }", same},
      {"r: { deny: list, for: alice, why: w }, z: { deny: list, for: both }", good},
      {"r: { deny: list, for: alice, why: w }, z: { deny: list, for: both, why: w }", same},
      {"r: { deny: list, for: alice }, z: { deny: list, for: both, why: w }", same},
      {"r: { deny: list, for: alice, hint: h }, z: { deny: list, for: both }", good},
      {"r: { ask: list, for: alice }, z: { ask: list, for: both }", same},
      {"r: { ask: list, for: alice, who: cli }, z: { ask: list, for: both }", good},
      {"r: { ask: list, for: alice, within: 1m }, z: { ask: list, for: both }", good},
      {"r: { allow: run, for: alice, clamp: { timeout: 1m } }, z: { allow: run, for: both }", good},
      {"r: { allow: run, for: alice, clamp: { timeout: 1m } }, z: { allow: run, for: both, clamp: { timeout: "
       "1m } }",
       same},
      {"r: { allow: create, network: none }, z: { allow: create, network: [none, web] }", same},
      {"r: { allow: create, network: none, cpus: { max: 2 } }, z: { allow: create, network: [none, web] }",
       same},
      {"r: { allow: create, network: none }, z: { allow: create, network: none, cpus: { max: 2 } }",
       {"P0303 z"}},
      {"r: { allow: copy_in, host_path: \"transfer:a/b/**\" }, z: { allow: copy_in, host_path: "
       "\"transfer:a/**\" }",
       same},
      {"r: { allow: copy_in, host_path: \"transfer:a/b\" }, z: { allow: copy_in, host_path: "
       "\"transfer:a/**\" }",
       same},
      {"r: { allow: copy_in, host_path: \"transfer:a/.b\" }, z: { allow: copy_in, host_path: "
       "\"transfer:a/**\" }",
       good},
      {"r: { allow: copy_in, host_path: { path: \"transfer:a/**\", dotfiles: true } }, z: { allow: copy_in, "
       "host_path: "
       "\"transfer:**\" }",
       good},
      {"r: { allow: copy_in, host_path: \"transfer:a/**\" }, z: { allow: copy_in, host_path: { path: "
       "\"transfer:**\", "
       "dotfiles: true } }",
       same},
      {"r: { deny: copy_in, host_path: \"transfer:a/.b\" }, z: { deny: copy_in, host_path: \"transfer:a/**\" "
       "}",
       same},
      {"r: { deny: copy_in, host_path: \"transfer:a/**\" }, z: { deny: copy_in, host_path: \"transfer:a/.b\" "
       "}",
       {"P0303 z"}},
      {"r: { allow: [list, create] }, z: { allow: [list, create, run] }", same},
      {"r: { allow: [list, create] }, y: { allow: list }, z: { allow: create }", {"P0303 y", "P0303 z"}},
      {"r: { allow: [list, create] }, z: { allow: [list, run] }", good},
      {"r: { deny: copy_in, bytes: { min: 5B } }, z: { deny: copy_in, bytes: { min: 4B } }", same},
      {"r: { deny: copy_in, bytes: { min: 3B } }, z: { deny: copy_in, bytes: { min: 4B } }", {"P0303 z"}},
      {"r: { deny: copy_in, bytes: { min: 3B, max: 8B } }, y: { deny: copy_in, bytes: { max: 5B } }, z: { "
       "deny: "
       "copy_in, bytes: { min: 6B } }",
       same},
      {"r: { deny: run, sandbox: { labels: [x] } }, z: { deny: run, sandbox: { labels: [x, w] } }", same},
      {"r: { allow: run, sandbox: { labels: { all: [x, w] } } }, z: { allow: run, sandbox: { labels: [w] } }",
       same},
      {"r: { deny: image_build, name: { glob: \"a-*-b\" } }, z: { deny: image_build, name: { glob: \"a*b\" } "
       "}",
       same},
      {"r: { deny: image_build, name: { glob: \"a*b\" } }, z: { deny: image_build, name: { glob: \"a-*-b\" } "
       "}",
       {"P0303 z"}},
      {"r: { deny: key, keys: a }, z: { deny: key, keys: [a, b] }", same},
      {"r: { allow: list }, z: { deny: list, for: alice }", good},
  };
  expect(table);
  expect_witnesses(table, "P0303");
}

// `org` above `user`, `user` above `project`; what is told of the lowest.
struct Tiers {
  const char* above;
  const char* below;
  Codes codes;
  const char* stance = "deny";
};

TEST(Statement09Checks, WhatATierAboveShutsOutHasAWitness) {
  const Codes out{"P0305 r"}, dead{"P0302 r"}, good{};
  const std::vector<Tiers> table{
      {"a: { allow: list }", "r: { allow: create }", out},
      {"a: { allow: create }", "r: { allow: create }", good},
      {"a: { allow: create }", "r: { allow: [create, list] }", good},
      {"a: { allow: run }", "r: { allow: [create, list] }", out},
      {"a: { ask: create }", "r: { allow: create }", good},
      {"a: { deny: create }", "r: { allow: create }", dead},
      {"a: { deny: create, network: web }", "r: { allow: create, network: web }", dead},
      {"a: { allow: create, network: none }", "r: { allow: create, network: web }", out},
      {"a: { allow: create, network: [none, web] }", "r: { allow: create, network: [web, nat] }", good},
      {"a: { allow: create, network: none }", "r: { allow: create, network: { not: none } }", out},
      {"a: { allow: create, network: none }", "r: { allow: create, network: { not: nat } }", good},
      {"a: { allow: copy_in, host_path: \"transfer:src/**\" }",
       "r: { allow: copy_in, host_path: \"transfer:doc/**\" }", out},
      {"a: { allow: copy_in, host_path: \"transfer:src/**\" }",
       "r: { allow: copy_in, host_path: \"transfer:**/doc\" }", good},
      {"a: { allow: copy_in, host_path: \"transfer:**\" }",
       "r: { allow: copy_in, host_path: \"transfer:.env\" }", out},
      {"a: { allow: copy_in, host_path: { path: \"transfer:**\", dotfiles: true } }",
       "r: { allow: copy_in, host_path: \"transfer:.env\" }", good},
      {"a: { allow: copy_in, bytes: { max: 1MiB } }", "r: { allow: copy_in, bytes: { min: 2MiB } }", out},
      {"a: { allow: copy_in, bytes: { max: 2MiB } }", "r: { allow: copy_in, bytes: { min: 2MiB } }", good},
      {"a: { allow: list, for: alice }", "r: { allow: list, for: bob }", out},
      {"a: { allow: list, for: alice }", "r: { allow: list, for: both }", good},
      {"a: { allow: list, for: alice }", "r: { allow: list, for: root }", good},
      {"a: { allow: run, sandbox: { labels: [x] } }", "r: { allow: run, not: { sandbox: { labels: [x] } } }",
       out},
      {"a: { allow: run, sandbox: { labels: [x] } }", "r: { allow: run, sandbox: { labels: [z] } }", good},
      {"a: { allow: click, when: { settings.web: true } }",
       "r: { allow: click, when: { settings.web: false } }", out},
      {"a: { allow: copy_out }", "r: { allow: copy_out.publish }", good},
      {"a: { allow: copy_out.publish }", "r: { allow: copy_out }", good},
      {"a: { allow: list }", "r: { allow: create }", out, "inherit"},
      {"a: { allow: list }", "r: { deny: create }", good, "inherit"},
      {"a: { allow: list }", "r: { ask: create }", good},
      {"a: { allow: copy_in, host_path: { not: \"transfer:a/**\" } }",
       "r: { allow: copy_in, host_path: \"transfer:a/b/**\" }", out},
      {"a: { allow: copy_in, guest_path: \"/tmp/**\" }", "r: { allow: copy_in, guest_path: \"/etc/*\" }",
       out},
      {"a: { allow: copy_in, guest_path: \"/tmp/**\" }", "r: { allow: copy_in, guest_path: \"/**\" }", good},
      {"a: { allow: run, timeout: { max: 10m } }", "r: { allow: run, timeout: { min: 11m } }", out},
      {"a: { allow: click, button: left }", "r: { allow: click, button: [right, middle] }", out},
      {"a: { allow: extend, by: { max: 1h } }", "r: { allow: extend, by: { min: 2h, max: 3h } }", out},
      {"a: { allow: list, for: [alice, bob] }", "r: { allow: list, not: { for: both } }", out},
      {"a: { allow: run, sandbox: { network: none } }", "r: { allow: run, sandbox: { network: [web, nat] } }",
       out},
      {"a: { allow: run, sandbox: { age: { max: 1h } } }", "r: { allow: run, sandbox: { age: { min: 2h } } }",
       out},
      {"a: { allow: list, when: { settings.max_sandboxes: { max: 3 } } }",
       "r: { allow: list, when: { settings.max_sandboxes: { min: 4 } } }", out},
      {"a: { ask: create, network: web }, b: { allow: create, network: none }",
       "r: { allow: create, network: nat }", out},
      {"a: { allow: type, chars: { max: 200 } }", "r: { allow: type, chars: { min: 201 } }", out},
      {"a: { allow: type, chars: { max: 200 } }", "r: { allow: type, chars: { min: 200 } }", good},
      {"a: { allow: image_build, name: { glob: \"test-*\" } }", "r: { allow: image_build, name: main }", out},
  };
  int shown = 0;
  for (const auto& row : table) {
    for (const auto& [above, below] :
         {std::pair("org", "user"), std::pair("org", "project"), std::pair("user", "session")}) {
      if (row.stance == std::string("inherit") && below == std::string("user")) continue;
      const std::vector<Source> sources{
          {"above.yaml", head(above) + kNames + "actions: { " + row.above + " }\n", {}},
          {"below.yaml", head(below, row.stance) + kNames + "actions: { " + row.below + " }\n", {}}};
      const auto found = found_in(sources);
      EXPECT_EQ(told(found), row.codes) << row.above << " above " << row.below;
      shown += expect_shown(sources, found, "P0305");
    }
  }
  EXPECT_GE(shown, kFixtures);
}

// What the documents show is checked in docs_test.cc.
TEST(Statement09Checks, ShippedPoliciesRaiseNoFalseAlarm) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SALLYPORT_SOURCE_DIR "/policies")) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::vector<Source> sources{{"p.yaml", text, {}}};
    for (const auto& found : compile_and_check(sources).diagnostics)
      ADD_FAILURE() << entry << found.format(text);
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace policy
