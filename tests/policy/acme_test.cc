// A policy of many parts, each of which one of its tests depends on.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "policy/checks.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

std::string text_of(const char* name) {
  const auto path = std::filesystem::path(SALLYPORT_SOURCE_DIR) / "tests/data/policy" / name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Compiled compiled(std::string policy) {
  const std::vector<Source> sources{{"acme.yaml", std::move(policy), {}},
                                    {"acme-tests.yaml", text_of("acme-tests.yaml"), {}}};
  return compile_and_check(sources);
}

TEST(Acme, LoadsAndPassesItsTests) {
  const auto result = compiled(text_of("acme.yaml"));
  EXPECT_NE(result.program, nullptr);
  for (const auto& found : result.diagnostics) {
    EXPECT_EQ(found.code, "P0390") << found.format();  // nobody is `sec-oncall` yet
  }
}

// Who is a developer and who is a job of ci, by what each may do that the others may not.
struct Who {
  const char* name;
  Transport transport;
  const char* os_user;
  std::optional<Token> token;
  const char* nat;
  const char* fake_key;
};
class AcmeSubject : public testing::TestWithParam<Who> {};

TEST_P(AcmeSubject, IsWhoItIs) {
  const auto result = compiled(text_of("acme.yaml"));
  ASSERT_NE(result.program, nullptr);
  Subject who;
  who.principal = PrincipalId{"somebody"};
  who.transport = GetParam().transport;
  who.os_user = GetParam().os_user;
  who.token = GetParam().token;
  EXPECT_EQ(said(judge(*result.program, Create{Network::nat}, known_settings(), who)), GetParam().nat);
  const CopyIn key{box(), host("fixtures/fake-keys/id_a"), guest("/tmp/a"), survey(1, 1)};
  EXPECT_EQ(said(judge(*result.program, key, known_settings(), who)), GetParam().fake_key);
}

const std::string kIssuer = "https://ci.acme.example";
INSTANTIATE_TEST_SUITE_P(
    Table, AcmeSubject,
    testing::Values(
        Who{"alice", Transport::stdio, "alice", {}, "ask create-nat", "deny no-secrets"},
        Who{"bob", Transport::stdio, "bob", {}, "ask create-nat", "deny no-secrets"},
        Who{"carol", Transport::stdio, "carol", {}, "deny default", "deny no-secrets"},
        Who{"alice_at_a_terminal", Transport::cli, "alice", {}, "deny default", "deny no-secrets"},
        Who{"ci", Transport::http, "x", Token{kIssuer, "repo:acme/web", {}}, "deny default", "allow bring"},
        Who{"ci_without_a_token", Transport::http, "x", {}, "deny default", "deny no-secrets"},
        Who{"ci_of_others", Transport::http, "x", Token{kIssuer, "repo:other/web", {}}, "deny default",
            "deny no-secrets"},
        Who{"another_issuer", Transport::http, "x", Token{"https://ci.acme.example.org", "repo:acme/web", {}},
            "deny default", "deny no-secrets"},
        Who{"a_token_over_stdio", Transport::stdio, "x", Token{kIssuer, "repo:acme/web", {}}, "deny default",
            "deny no-secrets"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// What is changed, and into what.
struct Change {
  const char* name;
  const char* part;
  const char* into;
};
class AcmePart : public testing::TestWithParam<Change> {};

TEST_P(AcmePart, IsNeededByATest) {
  auto text = text_of("acme.yaml");
  const auto at = text.find(GetParam().part);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view(GetParam().part).size(), GetParam().into);
  const auto result = compiled(text);
  EXPECT_EQ(result.program, nullptr);
  bool failed = false;
  for (const auto& found : result.diagnostics) failed = failed || found.code == "P0150";
  EXPECT_TRUE(failed) << (result.diagnostics.empty() ? "nothing found" : result.diagnostics[0].format());
}

INSTANTIATE_TEST_SUITE_P(
    Table, AcmePart,
    testing::Values(
        Change{"paths_of_a_set", "\"**/.env.*\", ", ""}, Change{"another_of_them", ", \"**/.ssh/**\"", ""},
        Change{"hosts_of_a_set", "\"packages.example.net\", ", ""},
        Change{"names_below_a_host", ", \"*.mirror.example.org\"", ""},
        Change{"use", "[run, start, check, stop, screenshot, destroy, list]", "[run]"},
        Change{"networks", "network: [none, web] }", "network: none }"},
        Change{"who_may_ask", "for: developers, network: nat", "for: ci, network: nat"},
        Change{"nat_is_asked", "ask: create, for: developers, network: nat, who: sec-oncall, within: 5m,",
               "deny: create, for: developers, network: nat,"},
        Change{"guest_paths", ", \"/tmp/**\"]", "]"}, Change{"bytes", "bytes: { max: 200MiB }, ", ""},
        Change{"files", ", files: { max: 5000 }", ""},
        Change{"take", "take:       { allow: copy_out, host_path: \"transfer:**\" }", "take: { deny: stop }"},
        Change{"tainted", "sandbox: net-tainted", "sandbox: other"},
        Change{"no_secrets", "deny: [copy_in, copy_out]\n", "deny: [copy_out]\n"},
        Change{"no_secrets_out", "deny: [copy_in, copy_out]\n", "deny: [copy_in]\n"},
        Change{"but_for_ci", "for: ci, host_path", "for: developers, host_path"},
        Change{"below_fixtures", "fixtures/fake-keys/**", "fixtures/**"},
        Change{"methods", "[GET, HEAD]", "[GET]"}, Change{"no_other_method", "[GET, HEAD]", "any"},
        Change{"ports", "ports: 443", "ports: [443, 8443]"},
        Change{"tls", "ports: 443, tls: inspect", "ports: [80, 443], tls: [none, inspect]"}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace policy
