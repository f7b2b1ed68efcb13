// Lines of `check url`: each gets one answer in ASCII, and says what the tables of egress say.
#include "gateway/cli/url_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/policy/egress_tables.h"

namespace gateway::cli {
namespace {

using nlohmann::json;

json answer(const std::string& line) {
  const auto text = answer_url(line);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; })) << text;
  return json::parse(text);
}

std::string said(const json& answer) {
  if (answer.at("verdict") == "refuse") return "refuse: " + answer.at("code").get<std::string>();
  return "normalise to " + answer.at("target").get<std::string>() + " then policy";
}

TEST(UrlLine, SaysWhatTheTableSays) {
  std::size_t rows = 0;
  for (const auto& row : policy::egress_rows("url-vectors.tsv")) {
    const auto target = policy::egress_bytes(row.at(3));
    // JSON holds no other text, and how Host fields are read is tested with the parser.
    if (row.at(4) != "=" || !policy::is_utf8(target) || row.at(3).starts_with("@repeat")) continue;
    auto host = target;
    const auto authority = target.find("//");
    if (row.at(2) != "CONNECT" && authority != std::string::npos) {
      host = target.substr(authority + 2, target.find_first_of("/?#", authority + 2) - authority - 2);
    }
    const json line{{"id", row.at(0)},
                    {"method", row.at(2)},
                    {"target", target},
                    {"host", json::array({host})},
                    {"context", row.at(5)}};
    const auto told = answer(line.dump());
    EXPECT_EQ(told.at("id"), row.at(0));
    EXPECT_EQ(said(told), row.at(6)) << row.at(0);
    EXPECT_EQ(told.value("address", "-"), row.at(7)) << row.at(0);
    ++rows;
  }
  EXPECT_GT(rows, 290U);
}

TEST(UrlLine, TakesAUrlAsAPersonWritesIt) {
  EXPECT_EQ(answer_url(R"({"id":1,"url":"https://Example.org"})"),
            R"({"id":1,"verdict":"normalise","target":"example.org:443/","address":"dns"})");
  EXPECT_EQ(answer_url(R"({"url":"https://[::1]:8443/a?b"})"),
            R"({"verdict":"normalise","target":"[::1]:8443/a?b","address":"refuse: loopback"})");
  EXPECT_EQ(said(answer(R"({"url":"https://127.1/"})")), "refuse: ambiguous-ipv4");
  EXPECT_EQ(said(answer(R"({"url":"https://example.org/a/../b"})")),
            "normalise to example.org:443/a/../b then policy");
  EXPECT_EQ(said(answer(R"({"url":"https://example.org/a/../b","context":"path-rule"})")),
            "refuse: ambiguous-path");
}

TEST(UrlLine, SaysThatTheHostFieldNamedAnother) {
  EXPECT_EQ(answer_url(R"({"method":"GET","target":"http://example.org/","host":["example.com"]})"),
            R"({"verdict":"normalise","target":"example.org:80/","address":"dns","host_rewritten":true})");
  EXPECT_EQ(said(answer(R"({"method":"GET","target":"http://example.org/"})")), "refuse: missing-host");
}

TEST(UrlLine, IsRefusedWhenItIsNoQuestion) {
  for (const auto* line :
       {"", "nonsense", "[]", "1", "{}", R"({"id":[],"url":"http://example.org/"})", R"({"url":1})",
        R"({"url":null})", R"({"url":"http://example.org/","url":"http://example.org/"})",
        R"({"url":"http://example.org/","method":"GET"})", R"({"target":"http://example.org/"})",
        R"({"method":"GET"})", R"({"method":1,"target":"http://example.org/"})",
        R"({"method":"GET","target":"http://example.org/","host":"example.org"})",
        R"({"method":"GET","target":"http://example.org/","host":[1]})",
        R"({"method":"GET","target":"http://example.org/","hosts":[]})",
        R"({"url":"http://example.org/","context":"rule"})", "{\"url\":\"http://\xff/\"}"}) {
    const auto told = answer(line);
    EXPECT_EQ(said(told), "refuse: request.invalid") << line;
    EXPECT_NE(told.value("reason", ""), "") << line;
  }
  EXPECT_EQ(json::parse(url_too_long()).at("code"), "request.invalid");
}

}  // namespace
}  // namespace gateway::cli
