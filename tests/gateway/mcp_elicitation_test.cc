// Questions to the person through the client, in both eras: what is sent, and what counts as an answer.
#include "gateway/mcp/elicitation.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/mcp/seal.h"
#include "tests/gateway/mcp_client.h"

namespace gateway::mcp {
namespace {

using nlohmann::json;

const Elicitation kQuestion{"ask-7", "may this be done?"};
constexpr std::string_view kCall = R"({"name":"sandbox_list","arguments":{}})";

TEST(Elicitation, OnlyAFormThatWasSentWithTheBoxTickedIsAYes) {
  struct Case {
    const char* result;
    Said said;
  };
  const Case cases[] = {
      {R"({"action":"accept","content":{"approve":true}})", Said::yes},
      {R"({"action":"accept","content":{"approve":true},"_meta":{"x":1}})", Said::yes},
      {R"({"action":"accept","content":{"approve":false}})", Said::no},
      {R"({"action":"decline"})", Said::no},
      {R"({"action":"decline","content":{"approve":true}})", Said::no},
      {R"({"action":"cancel"})", Said::dismissed},
      {R"({"action":"cancel","content":null})", Said::dismissed},
      {R"({"action":"accept"})", Said::unreadable},
      {R"({"action":"accept","content":null})", Said::unreadable},
      {R"({"action":"accept","content":{}})", Said::unreadable},
      {R"({"action":"accept","content":[true]})", Said::unreadable},
      {R"({"action":"accept","content":{"approve":"true"}})", Said::unreadable},
      {R"({"action":"accept","content":{"approve":1}})", Said::unreadable},
      {R"({"action":"accept","content":{"approve":null}})", Said::unreadable},
      {R"({"action":"accept","content":{"Approve":true}})", Said::unreadable},
      {R"({"action":"accept","content":{"approve":true,"all":true}})", Said::unreadable},
      {R"({"action":"accept","content":{"approve":true},"scope":"always"})", Said::unreadable},
      {R"({"action":"Accept","content":{"approve":true}})", Said::unreadable},
      {R"({"action":true,"content":{"approve":true}})", Said::unreadable},
      {R"({"content":{"approve":true}})", Said::unreadable},
      {R"({})", Said::unreadable},
      {R"([])", Said::unreadable},
      {R"("accept")", Said::unreadable},
      {R"(null)", Said::unreadable},
  };
  for (const auto& one : cases) {
    const auto result = json::parse(one.result);
    EXPECT_EQ(said_in(&result), one.said) << one.result;
  }
  EXPECT_EQ(said_in(nullptr), Said::unreadable);
}

TEST(Elicitation, FormsAreForClientsThatDeclareThem) {
  struct Case {
    const char *capabilities, *revision;
    bool takes;
  };
  const Case cases[] = {
      {R"({"elicitation":{}})", "2025-06-18", true},
      {R"({"elicitation":{}})", "2025-11-25", true},
      {R"({"elicitation":{}})", "2026-07-28", true},
      {R"({"elicitation":{"form":{}}})", "2025-11-25", true},
      {R"({"elicitation":{"form":{},"url":{}}})", "2026-07-28", true},
      {R"({"elicitation":{"url":{}}})", "2025-11-25", false},
      {R"({"elicitation":{"form":true}})", "2025-11-25", false},
      {R"({"elicitation":{}})", "2025-03-26", false},
      {R"({"elicitation":{}})", "2024-11-05", false},
      {R"({"elicitation":true})", "2025-06-18", false},
      {R"({"elicitation":null})", "2025-11-25", false},
      {R"({"sampling":{}})", "2025-11-25", false},
      {R"({})", "2025-11-25", false},
      {R"([])", "2025-11-25", false},
  };
  for (const auto& one : cases) {
    const auto capabilities = json::parse(one.capabilities);
    EXPECT_EQ(takes_forms(&capabilities, one.revision), one.takes) << one.capabilities << one.revision;
  }
  EXPECT_FALSE(takes_forms(nullptr, "2025-11-25"));
}

TEST(Elicitation, IsARequestOfOursToAClientOfTheOlderEra) {
  for (const auto* revision : {"2025-06-18", "2025-11-25"}) {
    mcp_test::Client client;
    client.initialize(revision, R"({"elicitation":{}})");
    EXPECT_EQ(client.call("1", kCall).reach, Reach::request);
    const auto sent = json::parse(client.elicit(kQuestion));
    EXPECT_EQ(sent["method"], "elicitation/create");
    EXPECT_EQ(sent["params"]["message"], kQuestion.message);
    EXPECT_EQ(sent["params"].contains("mode"), std::string_view(revision) == "2025-11-25");
    EXPECT_EQ(sent["params"]["requestedSchema"]["required"], json::array({"approve"}));
    const json reply{{"jsonrpc", "2.0"},
                     {"id", sent["id"]},
                     {"result", {{"action", "accept"}, {"content", {{"approve", true}}}}}};
    const auto fed = client.feed(reply.dump());
    const auto* answered = std::get_if<Answered>(&fed);
    ASSERT_NE(answered, nullptr);
    EXPECT_EQ(answered->question, kQuestion.question);
    EXPECT_EQ(answered->said, Said::yes);
    EXPECT_EQ(client.code(reply.dump()), 1) << "a second answer is nobody's";
  }
}

TEST(Elicitation, ClientsThatCannotAreNotAsked) {
  for (const auto* capabilities : {"{}", R"({"elicitation":{"url":{}}})"}) {
    mcp_test::Client client;
    client.initialize("2025-11-25", capabilities);
    EXPECT_EQ(client.call("1", kCall).reach, Reach::none);
    EXPECT_EQ(client.elicit(kQuestion), "");
  }
  mcp_test::Client old;
  old.initialize("2025-03-26", R"({"elicitation":{}})");
  EXPECT_EQ(old.call("1", kCall).reach, Reach::none);
}

TEST(Elicitation, AnErrorOrAShapelessAnswerIsUnreadable) {
  for (const auto* rest :
       {R"("error":{"code":-32601,"message":"no"})", R"("result":7)",
        R"("result":{"action":"accept","content":{"approve":true}},"error":{"code":1,"message":"x"})"}) {
    mcp_test::Client client;
    client.initialize("2025-11-25", R"({"elicitation":{}})");
    const std::string id = json::parse(client.elicit(kQuestion))["id"];
    const auto fed = client.feed(R"({"jsonrpc":"2.0","id":")" + id + R"(",)" + rest + "}");
    const auto* answered = std::get_if<Answered>(&fed);
    ASSERT_NE(answered, nullptr) << rest;
    EXPECT_EQ(answered->said, Said::unreadable) << rest;
  }
}

TEST(Elicitation, AnswersToWhatWasNotAskedAreSilence) {
  mcp_test::Client client;
  client.initialize("2025-11-25", R"({"elicitation":{}})");
  const std::string id = json::parse(client.elicit(kQuestion))["id"];
  const std::string yes = R"(,"result":{"action":"accept","content":{"approve":true}}})";
  for (const auto* other : {R"("elicit-9")", R"("ask-7")", "1", "null", R"(["elicit-1"])"}) {
    EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":)" + std::string(other) + yes), 1) << other;
  }
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0")" + yes), 1) << "without an id";
  const auto gone = json::parse(client.withdraw(kQuestion.question));
  EXPECT_EQ(gone["method"], "notifications/cancelled");
  EXPECT_EQ(gone["params"]["requestId"], id);
  EXPECT_EQ(client.withdraw(kQuestion.question), "");
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":")" + id + "\"" + yes), 1) << "late";
  EXPECT_NE(json::parse(client.elicit(kQuestion))["id"], id);
}

// A call of the stateless era by a client that shows forms, with more members in its params.
std::string modern(std::string_view more = "", std::string_view arguments = "{}",
                   std::string_view capabilities = R"({"elicitation":{}})") {
  return R"({"name":"sandbox_list","arguments":)" + std::string(arguments) +
         R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientCapabilities":)" +
         std::string(capabilities) + "}" + std::string(more) + "}";
}
std::string carrying(const std::string& state, std::string_view said) {
  return R"(,"requestState":")" + state + R"(","inputResponses":{"approval":)" + std::string(said) +
         R"(,"other":7})";
}
constexpr std::string_view kYes = R"({"action":"accept","content":{"approve":true}})";

std::string state_of(mcp_test::Client& client) {
  const auto asked = client.call("1", modern());
  EXPECT_EQ(asked.reach, Reach::retry);
  EXPECT_FALSE(asked.answered);
  const auto result = json::parse(client.complete(asked.handle, kQuestion))["result"];
  EXPECT_EQ(result["resultType"], "input_required");
  const auto request = result["inputRequests"]["approval"];
  EXPECT_EQ(request["method"], "elicitation/create");
  EXPECT_EQ(request["params"]["mode"], "form");
  EXPECT_EQ(request["params"]["message"], kQuestion.message);
  const std::string state = result["requestState"];
  EXPECT_LE(state.size(), 2048u);
  EXPECT_EQ(state.find("ask-7"), std::string::npos);
  return state;
}

TEST(Elicitation, IsAResultThatIsCalledAgainInTheStatelessEra) {
  mcp_test::Client client;
  const auto state = state_of(client);
  const auto again = client.call("2", modern(carrying(state, kYes)));
  ASSERT_TRUE(again.answered);
  EXPECT_EQ(again.answered->question, kQuestion.question);
  EXPECT_EQ(again.answered->said, Said::yes);
  const auto refused = client.call("3", modern(carrying(state, R"({"action":"accept","content":{}})")));
  ASSERT_TRUE(refused.answered);
  EXPECT_EQ(refused.answered->said, Said::unreadable);
}

TEST(Elicitation, WithoutAnAnswerTheQuestionIsPutAgain) {
  mcp_test::Client client;
  const auto state = state_of(client);
  EXPECT_FALSE(client.call("2", modern(R"(,"requestState":")" + state + "\"")).answered);
  EXPECT_FALSE(
      client.call("3", modern(R"(,"requestState":")" + state + R"(","inputResponses":{})")).answered);
  EXPECT_FALSE(
      client.call("4", modern(R"(,"inputResponses":{"approval":)" + std::string(kYes) + "}")).answered)
      << "nobody was asked";
  const auto undeclared = client.call("5", modern(carrying(state, kYes), "{}", "{}"));
  EXPECT_EQ(undeclared.reach, Reach::none);
  EXPECT_FALSE(undeclared.answered) << "who shows no forms has no answer";
}

TEST(Elicitation, AStateOfAnotherCallIsRefused) {
  mcp_test::Client client, stranger;
  const auto state = state_of(client);
  auto flipped = state;
  flipped[30] = flipped[30] == '0' ? '1' : '0';
  int id = 10;
  const auto refused = [&](mcp_test::Client& by, const std::string& params) {
    return by.code(R"({"jsonrpc":"2.0","id":)" + std::to_string(++id) +
                   R"(,"method":"tools/call","params":)" + params + "}") == code::kInvalidParams;
  };
  EXPECT_TRUE(refused(client, modern(carrying(flipped, kYes))));
  EXPECT_TRUE(refused(client, modern(carrying(state.substr(2), kYes))));
  EXPECT_TRUE(refused(client, modern(carrying("", kYes))));
  EXPECT_TRUE(refused(client, modern(carrying("ask-7", kYes))));
  EXPECT_TRUE(refused(client, modern(carrying(state, kYes), R"({"x":1})"))) << "other arguments";
  EXPECT_TRUE(refused(stranger, modern(carrying(state, kYes)))) << "another's key";
  EXPECT_TRUE(refused(client, modern(R"(,"requestState":7)")));
  EXPECT_TRUE(refused(client, modern(R"(,"inputResponses":[])")));
}

TEST(Seal, OpensWhatItClosedInTheSameContextOnly) {
  const Seal seal, other;
  const auto sealed = seal.close("text", "context");
  EXPECT_EQ(seal.open(sealed, "context"), "text");
  EXPECT_NE(seal.close("text", "context"), sealed);
  EXPECT_FALSE(seal.open(sealed, "other"));
  EXPECT_FALSE(other.open(sealed, "context"));
  EXPECT_EQ(seal.open(seal.close("", "c"), "c"), "");
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    auto bent = sealed;
    bent[at] = bent[at] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(seal.open(bent, "context")) << at;
    EXPECT_FALSE(seal.open(sealed.substr(0, at), "context")) << at;
  }
  for (const auto& junk : {std::string("zz"), sealed + "00", " " + sealed, std::string(5000, '0')}) {
    EXPECT_FALSE(seal.open(junk, "context")) << junk.substr(0, 80);
  }
}

}  // namespace
}  // namespace gateway::mcp
