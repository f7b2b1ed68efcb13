// Secrets: where their entries let them go, whose rules send them, and that nothing else does.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policy/rule_program.h"
#include "policy/secret.h"
#include "tests/policy/dice.h"
#include "tests/policy/mistakes.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

constexpr std::string_view kNpm =
    "secrets:\n  npm: { host: a.org, methods: [GET, PUT], path: \"/acme/**\" }\n";
constexpr std::string_view kSends =
    "web:\n  r: { allow: any, host: [a.org, b.org], tls: inspect, inject: npm }\n";

std::string tier_text(std::string_view tier, std::string_view sections) {
  return "sallyport: policy/v1\ntier: " + std::string(tier) +
         "\ndefault: " + (tier == "project" ? "inherit" : "deny") + "\n" + std::string(sections);
}

std::shared_ptr<const RuleProgram> program(const std::vector<std::string>& tiers) {
  std::vector<Source> sources;
  for (const auto& text : tiers)
    sources.push_back({"p" + std::to_string(sources.size()) + ".yaml", text, {}});
  auto result = compile(sources);
  for (const auto& found : result.diagnostics) {
    if (found.severity == Severity::error) ADD_FAILURE() << found.format() << "\n" << tiers.back();
  }
  return std::dynamic_pointer_cast<const RuleProgram>(result.program);
}

Judgement judged(const Program& program, std::string_view method, std::string_view url,
                 const Labels& labels = {}) {
  auto request = ask(fetch_of(box(), std::string(method), *parse_url(url)));
  request.sandbox->labels = labels;
  return program.judge(request, known_settings());
}

std::vector<std::string> sent(const Program& program, std::string_view method, std::string_view url) {
  std::vector<std::string> names;
  for (const auto& one : judged(program, method, url).injections)
    names.push_back(one.secret.tier + ":" + one.secret.id + " as " + one.header);
  return names;
}

using Names = std::vector<std::string>;

class Mistakes : public testing::TestWithParam<mistakes::Mistake> {};
TEST_P(Mistakes, OfSecretsAreTold) { mistakes::expect_told(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Secrets, Mistakes,
    testing::Values(
        mistakes::Mistake{
            "no_host", "secrets:\n  s: { methods: GET, path: /a }\n", "P0181", {6, 6}, "needs `hosts`"},
        mistakes::Mistake{
            "no_method", "secrets:\n  s: { host: a.org, path: /a }\n", "P0181", {6, 6}, "needs `methods`"},
        mistakes::Mistake{
            "no_path", "secrets:\n  s: { host: a.org, method: GET }\n", "P0181", {6, 6}, "needs `paths`"},
        mistakes::Mistake{"hosts_below",
                          "secrets:\n  s: { host: \"*.a.org\", method: GET, path: /a }\n",
                          "P0181",
                          {6, 8},
                          "named in full, not to `*.a.org`"},
        mistakes::Mistake{"hosts_of_a_set",
                          "sets:\n  h: { hosts: [a.org, \"*.b.org\"] }\n"
                          "secrets:\n  s: { hosts: $h, method: GET, path: /a }\n",
                          "P0181",
                          {8, 8},
                          "not to `*.b.org`"},
        mistakes::Mistake{"any_host",
                          "secrets:\n  s: { host: any, method: GET, path: /a }\n",
                          "P0181",
                          {6, 8},
                          "not to `any`"},
        mistakes::Mistake{"host_turned_round",
                          "secrets:\n  s: { host: { not: a.org }, method: GET, path: /a }\n",
                          "P0181",
                          {6, 14},
                          "takes a value or a list"},
        mistakes::Mistake{"any_method",
                          "secrets:\n  s: { host: a.org, method: any, path: /a }\n",
                          "P0161",
                          {6, 29},
                          "never `any`"},
        mistakes::Mistake{"plain_http",
                          "secrets:\n  s: { host: a.org, scheme: http, method: GET, path: /a }\n",
                          "P0107",
                          {6, 21},
                          "`scheme`"},
        mistakes::Mistake{"value",
                          "secrets:\n  s: { value: abc, host: a.org, method: GET, path: /a }\n",
                          "P0107",
                          {6, 8},
                          "`value`"},
        mistakes::Mistake{"header_of_the_connection",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a, header: Host }\n",
                          "P0182",
                          {6, 52},
                          "no secret is sent as `host`"},
        mistakes::Mistake{"header_with_a_break",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a, header: \"x: y\" }\n",
                          "P0182",
                          {6, 52},
                          "no secret is sent as"},
        mistakes::Mistake{"header_that_is_another_to_some_servers",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a, header: X_Api_Key }\n",
                          "P0182",
                          {6, 52},
                          "no secret is sent as"},
        mistakes::Mistake{"header_that_says_where_it_came_from",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a, header: X-Forwarded-Host }\n",
                          "P0182",
                          {6, 52},
                          "no secret is sent as"},
        mistakes::Mistake{"address_for_a_host",
                          "secrets:\n  s: { host: 8.8.8.8, method: GET, path: /a }\n",
                          "P0181",
                          {6, 8},
                          "that have a name"},
        mistakes::Mistake{
            "two_for_one_field",
            "secrets:\n  s: { host: a.org, method: [GET, PUT], path: \"/a/**\" }\n"
            "  t: { hosts: [b.org, a.org], method: GET, path: \"/**\", header: AUTHORIZATION }\n",
            "P0182",
            {7, 3},
            "would both be sent as `authorization`"},
        mistakes::Mistake{"misspelt",
                          "secrets:\n  npm: { host: a.org, method: GET, path: /a }\n"
                          "web:\n  r: { allow: GET, host: a.org, tls: inspect, inject: nmp }\n",
                          "P0112",
                          {8, 55},
                          "did you mean `npm`?"},
        mistakes::Mistake{"nothing_looked_into",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a }\n"
                          "web:\n  r: { allow: any, host: a.org, inject: s }\n",
                          "P0183",
                          {8, 33},
                          "add `tls: inspect`"},
        mistakes::Mistake{"of_a_rule_that_asks",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a }\n"
                          "web:\n  r: { ask: any, host: a.org, tls: inspect, inject: s }\n",
                          "P0129",
                          {8, 45},
                          "goes with what a rule allows"},
        mistakes::Mistake{"of_an_action",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a }\n"
                          "actions:\n  r: { allow: run, inject: s }\n",
                          "P0129",
                          {8, 20},
                          "about other actions"},
        mistakes::Mistake{"for_another_host",
                          "secrets:\n  s: { host: a.org, method: GET, path: /a }\n"
                          "web:\n  r: { allow: GET, host: \"*.a.org\", tls: inspect, inject: s }\n",
                          "P0184",
                          {8, 59},
                          "no `host` in common"},
        mistakes::Mistake{
            "for_another_path",
            "secrets:\n  s: { host: a.org, method: GET, path: \"/a/**\" }\n"
            "web:\n  r: { allow: GET, host: a.org, path: \"/b/**\", tls: inspect, inject: s }\n",
            "P0184",
            {8, 70},
            "no `path` in common"},
        mistakes::Mistake{"for_another_port",
                          "secrets:\n  s: { host: a.org, port: 8443, method: GET, path: /a }\n"
                          "web:\n  r: { allow: GET, host: a.org, tls: inspect, inject: s }\n",
                          "P0184",
                          {8, 55},
                          "no `port` in common"}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(Secrets, GoOnlyWhereTheirEntryAndARuleLetThem) {
  const auto made = program({tier_text("user", std::string(kNpm) + std::string(kSends))});
  ASSERT_NE(made, nullptr);
  const Names npm{"user:npm as authorization"};
  EXPECT_EQ(sent(*made, "GET", "https://a.org/acme/x"), npm);
  EXPECT_EQ(sent(*made, "PUT", "https://a.org/acme"), npm);
  for (const auto* other : {"https://b.org/acme/x", "https://a.org/", "https://a.org/acmes",
                            "https://a.org/acme/../x", "https://a.org:80/acme/x"}) {
    EXPECT_EQ(sent(*made, "GET", other), Names{}) << other;
  }
  EXPECT_EQ(sent(*made, "POST", "https://a.org/acme/x"), Names{});
  EXPECT_EQ(judged(*made, "POST", "https://a.org/acme/x").effect, Effect::allow);
}

TEST(Secrets, GoNowhereWhenTheRequestIsRefused) {
  const auto made =
      program({tier_text("user", std::string(kNpm) + std::string(kSends) +
                                     "  no: { deny: PUT, host: a.org, path: \"/acme/**\" }\n")});
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(judged(*made, "PUT", "https://a.org/acme/x").effect, Effect::deny);
  EXPECT_EQ(sent(*made, "PUT", "https://a.org/acme/x"), Names{});
}

TEST(Secrets, AreInjectedByTheirOwnTierOnly) {
  const auto result = compile(std::vector<Source>{
      {"org.yaml",
       tier_text("org", std::string(kNpm) + "web:\n  r: { allow: any, host: a.org, tls: inspect }\n"),
       {}},
      {"user.yaml",
       tier_text("user", "web:\n  r: { allow: GET, host: a.org, tls: inspect, inject: npm }\n"),
       {}}});
  EXPECT_EQ(result.program, nullptr);
  bool told = false;
  for (const auto& found : result.diagnostics)
    told = told || (found.code == "P0112" &&
                    found.message.find("tier `user` has no secret `npm`") != std::string::npos);
  EXPECT_TRUE(told);
}

TEST(Secrets, AreNotForWhatAProjectBringsAlong) {
  const auto result = compile(std::vector<Source>{{"p.yaml", tier_text("project", kNpm), {}}});
  EXPECT_EQ(result.program, nullptr);
  ASSERT_FALSE(result.diagnostics.empty());
  EXPECT_EQ(result.diagnostics.front().code, "P0180");
}

TEST(Secrets, OfAHigherTierStayWhereALowerOneWantsTheField) {
  const std::string below =
      "secrets:\n  mine: { host: a.org, method: GET, path: \"/**\" }\n  key: { host: a.org, method: GET, "
      "path: \"/**\", "
      "header: X-Api-Key }\nweb:\n  s: { allow: GET, host: a.org, tls: inspect, inject: [mine, key] }\n";
  const std::vector<std::string> tiers{tier_text("org", std::string(kNpm) + std::string(kSends)),
                                       tier_text("user", below)};
  for (const bool turned : {false, true}) {
    const auto made = program(turned ? std::vector<std::string>{tiers[1], tiers[0]} : tiers);
    ASSERT_NE(made, nullptr);
    auto names = sent(*made, "GET", "https://a.org/acme/x");
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (Names{"org:npm as authorization", "user:key as x-api-key"}));
    names = sent(*made, "GET", "https://a.org/other");
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (Names{"user:key as x-api-key", "user:mine as authorization"}));
  }
}

TEST(Secrets, AreExpectedByTests) {
  const auto with = [](const std::string& expect) {
    return compile(
        std::vector<Source>{{"p.yaml",
                             tier_text("user", std::string(kNpm) + std::string(kSends) +
                                                   "tests:\n  - { call: fetch, method: GET, url: "
                                                   "\"https://a.org/acme/x\", expect: { effect: allow, " +
                                                   expect + " } }\n"),
                             {}}});
  };
  EXPECT_NE(with("inject: npm").program, nullptr);
  const auto failed = with("inject: []");
  EXPECT_EQ(failed.program, nullptr);
  ASSERT_FALSE(failed.diagnostics.empty());
  EXPECT_NE(failed.diagnostics.front().message.find("with secrets npm"), std::string::npos)
      << failed.diagnostics.front().format();
}

TEST(Secrets, AreComparedWithEachOtherInBoundedTime) {
  std::string many = "secrets:\n";
  for (int i = 0; i < 64; ++i)
    many += "  s" + std::to_string(i) + ": { host: h.org, method: GET, path: \"/p" + std::to_string(i) +
            "/**\" }\n";
  EXPECT_NE(compile(std::vector<Source>{{"p.yaml", tier_text("user", many), {}}}).program, nullptr);
  many += "  more: { host: i.org, method: GET, path: /a }\n";
  const auto result = compile(std::vector<Source>{{"p.yaml", tier_text("user", many), {}}});
  EXPECT_EQ(result.program, nullptr);
  EXPECT_EQ(result.diagnostics.front().code, "P0185");
}

TEST(Secrets, ThatNoRuleInjectsAreTold) {
  const auto result = compile(std::vector<Source>{{"p.yaml", tier_text("user", kNpm), {}}});
  ASSERT_NE(result.program, nullptr);
  ASSERT_FALSE(result.loose_ends.empty());
  EXPECT_EQ(result.loose_ends.front().code, "P0311");
}

// Whatever rules there are, nothing is sent past what the secret's own entry says.
TEST(SecretsProperty, NeverGoPastWhatTheyAreBoundTo) {
  std::size_t injected = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Dice dice(seed);
    const auto host = dice.one<std::string>({"a.org", "b.a.org"});
    const auto method = dice.one<std::string>({"GET", "PUT"});
    const auto path = dice.one<std::string>({"/x/**", "/x/y", "/**"});
    const auto port = dice.one<std::string>({"443", "8443"});
    std::string text = "secrets:\n  s: { host: " + host + ", port: " + port + ", method: " + method +
                       ", path: \"" + path + "\" }\nweb:\n";
    for (std::size_t rule = 1 + dice.below(4); rule > 0; --rule) {
      const bool sends = dice.chance(70);
      text += "  r" + std::to_string(rule) + ": { " +
              (sends ? "allow" : dice.one<std::string>({"allow", "ask", "deny"})) + ": " +
              (sends ? std::string("any") : dice.one<std::string>({"any", "GET", "[GET, PUT]"})) +
              ", host: " + dice.one<std::string>({"any", "[a.org, b.a.org]"}) +
              ", port: [443, 8443], tls: inspect" + (sends ? ", inject: s" : "") + " }\n";
    }
    const auto made = program({tier_text("user", text)});
    ASSERT_NE(made, nullptr);
    for (int i = 0; i < 40; ++i) {
      const auto asked_host = dice.one<std::string>({"a.org", "b.a.org", "c.org"});
      const auto asked_port = dice.one<std::string>({"443", "8443", "80"});
      const auto asked_method = dice.one<std::string>({"GET", "PUT", "POST"});
      const auto asked_path = dice.one<std::string>({"/x/y", "/x", "/x/y/z", "/xy", "/"});
      const auto scheme = dice.one<std::string>({"https", "https", "http"});
      const auto got =
          judged(*made, asked_method, scheme + "://" + asked_host + ":" + asked_port + asked_path);
      if (got.injections.empty()) continue;
      ++injected;
      EXPECT_NE(got.effect, Effect::deny);
      EXPECT_EQ(got.injections.size(), 1U);
      EXPECT_EQ(scheme, "https") << text;
      EXPECT_EQ(asked_host, host) << text;
      EXPECT_EQ(asked_port, port) << text;
      EXPECT_EQ(asked_method, method) << text;
      EXPECT_TRUE(path == "/**" || asked_path == "/x/y" ||
                  (path == "/x/**" && asked_path.starts_with("/x") && asked_path != "/xy"))
          << text << asked_path;
    }
  }
  EXPECT_GT(injected, 100U);
}

}  // namespace
}  // namespace policy
