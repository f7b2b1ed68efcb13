#include "policy/web_target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/address_class.h"
#include "policy/alabel.h"
#include "policy/web_fault.h"
#include "policy/web_path.h"
#include "tests/policy/egress_tables.h"

namespace policy {
namespace {

using namespace std::string_literals;

Result<WebTarget> target_of(std::string_view method, std::string_view target,
                            const std::vector<std::string>& hosts) {
  const std::vector<std::string_view> views(hosts.begin(), hosts.end());
  return parse_web_target(method, target, views);
}

// The values of the Host fields of a row.
std::vector<std::string> hosts_of(const std::string& method, const std::string& target,
                                  const std::string& field) {
  if (field == "-") return {};
  if (field == "@empty") return {""};
  if (field == "=") {
    if (method == "CONNECT") return {target};
    const auto begin = target.find("//");
    if (begin == std::string::npos) return {target};
    return {target.substr(begin + 2, target.find_first_of("/?#", begin + 2) - begin - 2)};
  }
  std::vector<std::string> hosts(1);
  for (const char c : field) {
    if (c == '|') {
      hosts.emplace_back();
    } else {
      hosts.back() += c;
    }
  }
  for (auto& host : hosts) host = egress_bytes(host);
  return hosts;
}

struct Verdict {
  std::string expect, address = "-";
};

Verdict verdict(const Result<WebTarget>& target, const std::string& context, const std::string& as_sent) {
  if (!target) return {"refuse: " + target.error().code};
  if (const auto code = refused_name_class(target->host)) return {"refuse: " + std::string(*code)};
  if (context == "path-rule" && target->path_fault) return {"refuse: " + target->path_fault->code};
  auto path = target->path;
  if (path.size() > 4000 && as_sent.ends_with(path)) path = "/@unchanged";
  Verdict said{"normalise to " + target->authority() + path + " then policy", "dns"};
  if (const auto* address = target->host.address()) {
    const auto refused = refused_class(*address);
    said.address = refused ? "refuse: " + std::string(refused->code) : "allow";
  }
  return said;
}

TEST(WebTarget, EveryRowOfTheTableGetsItsVerdictAndCode) {
  const auto rows = egress_rows("url-vectors.tsv");
  ASSERT_EQ(rows.size(), 325U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at(0) + " " + row.at(2) + " " + row.at(3));
    const auto bytes = egress_bytes(row.at(3));
    const auto target = target_of(row.at(2), bytes, hosts_of(row.at(2), bytes, row.at(4)));
    const auto said = verdict(target, row.at(5), bytes);
    EXPECT_EQ(said.expect, row.at(6));
    EXPECT_EQ(said.address, row.at(7));
    if (!target) {
      EXPECT_NE(target.error().message, "");
      continue;
    }
    // What was accepted is accepted as printed, with the same meaning.
    const auto again = target_of(row.at(2), target->text(), {target->authority()});
    ASSERT_EQ(again.has_value(), target->text().size() <= kMaxWebTarget);
    if (!again) continue;
    auto plain = *target;
    plain.host_rewritten = false;
    EXPECT_EQ(*again, plain);
  }
}

TEST(WebTarget, NotesAHostFieldThatNamesAnother) {
  const auto rewritten = [](std::string_view method, std::string_view target, const std::string& host) {
    const auto parsed = target_of(method, target, {host});
    EXPECT_TRUE(parsed) << host;
    return parsed && parsed->host_rewritten;
  };
  EXPECT_FALSE(rewritten("GET", "http://a.example.org/", "A.example.org."));
  EXPECT_FALSE(rewritten("GET", "http://a.example.org:8080/", "a.example.org:8080"));
  EXPECT_TRUE(rewritten("GET", "http://a.example.org:8080/", "a.example.org"));
  EXPECT_TRUE(rewritten("GET", "http://a.example.org/", "b.example.org"));
  EXPECT_FALSE(rewritten("GET", "http://[::ffff:8.8.8.8]/", "8.8.8.8"));
  EXPECT_FALSE(rewritten("CONNECT", "a.example.org:443", "a.example.org"));
  EXPECT_TRUE(rewritten("CONNECT", "a.example.org:443", "a.example.org:80"));
}

TEST(WebTarget, MethodsAreTokensAndCompareByCase) {
  const auto code = [](std::string_view method, std::string_view target) {
    const auto parsed = target_of(method, target, {"example.org"});
    return parsed ? "ok" : parsed.error().code;
  };
  EXPECT_EQ(code("PROPFIND", "http://example.org/"), "ok");
  EXPECT_EQ(code("connect", "example.org:443"), "scheme-not-http");
  for (const auto& method : {""s, "GE T"s, "GET\r"s, "G\0T"s, "g\xC3\xA9t"s, std::string(33, 'A')})
    EXPECT_EQ(code(method, "http://example.org/"), "bad-request-line") << method;
}

TEST(WebTarget, ATunnelAndAWholeServerShowNoPath) {
  for (const auto& [method, target] : std::vector<std::pair<std::string, std::string>>{
           {"CONNECT", "example.org:443"}, {"OPTIONS", "http://example.org"}}) {
    const auto parsed = target_of(method, target, {"example.org"});
    ASSERT_TRUE(parsed);
    ASSERT_TRUE(parsed->path_fault);
    EXPECT_EQ(parsed->path_fault->code, "no-path");
    EXPECT_TRUE(parsed->segments.empty());
  }
}

TEST(WebUrl, TakesHttpsAndTheRulesOfTargets) {
  struct Case {
    std::string url, said;
  };
  for (const auto& [url, said] :
       std::vector<Case>{{"https://Example.org", "https://example.org:443/"},
                         {"HTTPS://example.org:8443/a?b", "https://example.org:8443/a?b"},
                         {"http://example.org?b", "http://example.org:80/?b"},
                         {"https://127.1/", "ambiguous-ipv4"},
                         {"ftp://example.org/", "scheme-not-http"},
                         {"https:example.org/", "not-absolute-form"},
                         {"/a", "not-absolute-form"},
                         {"*", "not-absolute-form"},
                         {"", "bad-request-line"},
                         {"https://a@example.org/", "userinfo"},
                         {"https://example.org/#a", "fragment"}}) {
    const auto target = parse_url(url);
    EXPECT_EQ(target ? target->text() : target.error().code, said) << url;
    if (target) {
      EXPECT_EQ(parse_url(target->text()), target);
    }
  }
}

TEST(Host, IsTheSameHoweverItIsWritten) {
  for (const auto& [text, same] :
       std::vector<std::pair<std::string, std::string>>{{"Example.ORG.", "example.org"},
                                                        {"[::FFFF:8.8.8.8]", "8.8.8.8"},
                                                        {"[0:0::1]", "[::1]"},
                                                        {"XN--BCHER-KVA.example", "xn--bcher-kva.example"}}) {
    const auto host = Host::parse(text);
    ASSERT_TRUE(host) << text;
    EXPECT_EQ(host->text(), same);
    EXPECT_EQ(Host::parse(same), host);
  }
}

TEST(Host, TakesNothingElseThanAHost) {
  for (const auto& [text, code] :
       std::vector<std::pair<std::string, std::string>>{{"", "empty-host"},
                                                        {"a\0b"s, "control-byte"},
                                                        {"b\xC3\xBC.example", "non-ascii-target"},
                                                        {"a b", "bad-host-char"},
                                                        {"a/b", "bad-host-char"},
                                                        {"a:80", "bad-authority"},
                                                        {"[::1]:80", "bad-authority"},
                                                        {"0x", "ambiguous-ipv4"},
                                                        {"0X7F", "ambiguous-ipv4"},
                                                        {"[1.2.3.4]", "bad-ipv6"},
                                                        {"[", "bad-ipv6"},
                                                        {"a.-b", "bad-label"}}) {
    const auto host = Host::parse(text);
    ASSERT_FALSE(host) << text;
    EXPECT_EQ(host.error().code, code) << text;
  }
}

TEST(Host, NamesThatNoResolverShouldSeeHaveAClass) {
  const auto name_class = [](std::string_view text) {
    return std::string(refused_name_class(*Host::parse(text)).value_or("-"));
  };
  EXPECT_EQ(name_class("a.localhost."), "loopback-name");
  EXPECT_EQ(name_class("notlocalhost"), "single-label");
  EXPECT_EQ(name_class("not.a-localhost"), "-");
  EXPECT_EQ(name_class("localhost.example.com"), "-");
  for (const auto* top : {"alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan",
                          "local", "localdomain", "mail", "onion", "private", "test"}) {
    EXPECT_EQ(name_class("a."s + top), "special-use-name") << top;
    EXPECT_EQ(name_class("a."s + top + ".org"), "-") << top;
    EXPECT_EQ(name_class("a.x"s + top), "-") << top;
  }
  EXPECT_EQ(name_class("127.0.0.1"), "-");
  EXPECT_EQ(name_class("[::1]"), "-");
}

TEST(Alabel, DecodesWhatIsPunycode) {
  EXPECT_EQ(decode_punycode("bcher-kva"), U"b\u00FCcher");
  EXPECT_EQ(decode_punycode("egbpdaj6bu4bxfgehfvwxn"),
            U"\u0644\u064A\u0647\u0645\u0627\u0628\u062A\u0643\u0644\u0645\u0648\u0634\u0639\u0631\u0628"
            U"\u064A\u061F");
  for (const auto* text : {"", "99999999", "a-b!", "-", "zzzzzzzzzzzzzzzzzzzz", "bcher-kv"})
    EXPECT_FALSE(decode_punycode(text)) << text;
  for (const auto* label : {"xn--mnchen-3ya", "xn--80ak6aa92e", "xn--fiqs8s", "xn--ls8h"})
    EXPECT_TRUE(is_alabel(label));
  // U+0080, U+3002, U+00AD, U+202E, U+FF0F, U+200B, plain ASCII, nothing, and what is cut off.
  for (const auto* label : {"xn--a", "xn--ab-r13a", "xn--ab-5da", "xn--ab-f4t", "xn--ab-1u3n", "xn--ab-g1t",
                            "xn--example-", "xn--", "xn--bcher-kv", "example"})
    EXPECT_FALSE(is_alabel(label)) << label;
}

TEST(WebPath, AmbiguousPathsHaveNoSegments) {
  for (const auto* path : {"/.",     "/..",      "/a/./b",  "/a/../b", "/%2e",   "/%2E%2e/a",  "/.%2e/",
                           "//",     "/a//b",    "/a/%2fb", "/a%2Fb",  "/a%5cb", "/a\\b",      "/a;b",
                           "/a%3bb", "/%00",     "/%0a",    "/%7f",    "/%",     "/%2",        "/%g0",
                           "/%252e", "/%25%32e", "/%2525",  "/%c0%ae", "/%ff",   "/%ed%a0%80", "/a/..?b"}) {
    const auto segments = path_segments(path);
    ASSERT_FALSE(segments) << path;
    EXPECT_EQ(segments.error().code, "ambiguous-path");
  }
}

TEST(WebPath, OtherPathsAreDecodedOnce) {
  using Segments = std::vector<std::string>;
  const std::vector<std::pair<std::string, Segments>> cases{
      {"/", {}},
      {"/?a/../b", {}},
      {"/a", {"a"}},
      {"/a/", {"a"}},
      {"/%61dmin/b", {"admin", "b"}},
      {"/caf%C3%A9", {"caf\xC3\xA9"}},
      {"/100%25/...", {"100%", "..."}},
      {"/100%25zz", {"100%zz"}},
      {"/a%20b%3F%23?c", {"a b?#"}},
  };
  for (const auto& [path, segments] : cases) EXPECT_EQ(path_segments(path), segments) << path;
}

TEST(WebFault, EveryOneHasACodeAndSaysWhatToDo) {
  for (int i = 0; i <= static_cast<int>(WebFault::no_path); ++i) {
    const auto fault = static_cast<WebFault>(i);
    EXPECT_NE(code_of(fault), "");
    EXPECT_NE(error_of(fault).message, "") << code_of(fault);
  }
}

}  // namespace
}  // namespace policy
