#include "gateway/mcp/session.h"

#include <map>
#include <random>
#include <set>

#include "gateway/tools/encode.h"
#include "tests/gateway/mcp_client.h"

namespace {

using gateway::mcp::Answer;
using gateway::mcp::CallHandle;
using gateway::mcp::CancelRequested;
using gateway::mcp::Era;
using gateway::mcp::Silence;
using gateway::mcp::ToolResult;
using mcp_test::Client;
using mcp_test::kModernMeta;
using nlohmann::json;
using namespace std::chrono_literals;

ToolResult done() { return gateway::tools::typed(3); }

std::string cancel(std::string_view id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + std::string(id) +
         R"(,"reason":"user pressed Esc"}})";
}

std::string modern_params(std::string_view more) {
  return "{" + std::string(kModernMeta) + std::string(more) + "}";
}

TEST(McpSession, ServesEveryLegacyRevision) {
  for (const auto revision : gateway::mcp::kLegacyRevisions) {
    SCOPED_TRACE(revision);
    Client client;
    client.initialize(revision);
    EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), 0);
    EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":2,"method":"ping"})"), 0);
    const auto call =
        client.call("3", R"({"name":"sandbox_list","task":{"ttl":1},"_meta":{"progressToken":9}})");
    EXPECT_EQ(call.client.protocol, revision);
    EXPECT_EQ(call.client.era, Era::legacy);
    client.clock.advance(2s);
    EXPECT_NE(client.progress(call.handle, 1, 2, "half"), "");
    EXPECT_NE(client.complete(call.handle, done()), "");
  }
}

TEST(McpSession, AnswersAnUnknownVersionWithTheNewestLegacyOne) {
  for (const char* version : {"2024-10-07", "2099-01-01", "2026-07-28", "", "draft"}) {
    Client client;
    const auto answer =
        client.ask(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" +
                   std::string(version) + R"("}})");
    EXPECT_EQ(answer.at("result").at("protocolVersion"), "2025-11-25");
  }
}

TEST(McpSession, RefusesASecondInitialize) {
  Client client;
  client.initialize();
  EXPECT_EQ(
      client.code(
          R"({"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})"),
      -32600);
  EXPECT_EQ(client.session.client()->protocol, "2025-11-25");
}

TEST(McpSession, IntroducesItselfWithInstructionsThatClientsDoNotCut) {
  Client client;
  const auto answer = client.ask(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})");
  const auto& result = answer.at("result");
  EXPECT_EQ(result.at("serverInfo").at("name"), "sallyport");
  EXPECT_EQ(result.at("serverInfo").at("version"), "1.2.3");
  EXPECT_EQ(result.at("capabilities"), json::parse(R"({"tools":{"listChanged":true}})"));
  const auto text = result.at("instructions").get<std::string>();
  EXPECT_LE(text.size(), 2048U);
  for (const char* word : {"sandbox_create", "sandbox_copy_in", "sandbox_run", "sandbox_start",
                           "sandbox_check", "sandbox_copy_out", "sandbox_destroy", "transfer folder"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

TEST(McpSession, TellsALegacyClientOfOtherToolsOnceAndOnlyIfItHasSeenTheList) {
  gateway::mcp::Tools tools{R"([{"name":"a"}])", {"a"}};
  const policy::SystemClock clock;
  gateway::mcp::Session::Parts parts;
  parts.clock = &clock;
  parts.tools = [&]() -> const gateway::mcp::Tools& { return tools; };
  gateway::mcp::Session session(std::move(parts));
  (void)session.feed(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})");
  EXPECT_EQ(session.tools_changed(), "") << "it has no list that could be old";
  (void)session.feed(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})");
  EXPECT_EQ(session.tools_changed(), "");
  tools.list = "[]";
  EXPECT_EQ(session.tools_changed(), R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  EXPECT_EQ(session.tools_changed(), "");
}

TEST(McpSession, ServesTheModernEraWithoutRememberingAnything) {
  Client client;
  const auto found =
      client.ask(R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":)" + modern_params("") + "}");
  const auto& result = found.at("result");
  EXPECT_EQ(result.at("supportedVersions"), json::array({"2026-07-28"}));
  EXPECT_EQ(result.at("resultType"), "complete");
  EXPECT_EQ(result.at("cacheScope"), "private");
  EXPECT_EQ(result.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name"), "sallyport");

  const auto list =
      client.ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":)" + modern_params("") + "}");
  EXPECT_EQ(list.at("result").at("cacheScope"), "private");
  EXPECT_GE(list.at("result").at("ttlMs").get<int>(), 0);
  EXPECT_EQ(list.at("result").at("tools").size(), 13U);

  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})"), -32602);
  EXPECT_FALSE(client.session.client());
}

TEST(McpSession, NamesTheVersionsItHasWhenAskedForAnother) {
  Client client;
  const auto answer = client.ask(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}})");
  EXPECT_EQ(answer.at("error").at("code"), -32022);
  EXPECT_EQ(answer.at("error").at("data"),
            json::parse(R"({"supported":["2026-07-28"],"requested":"2030-01-01"})"));
  EXPECT_EQ(mcp_test::fault_against("2026-07-28", "UnsupportedProtocolVersionError", answer.dump()), "");
}

TEST(McpSession, ServesBothErasOnOnePipe) {
  Client client;
  client.initialize("2025-06-18");
  const auto modern = client.call("1", modern_params(R"(,"name":"sandbox_list")"));
  const auto legacy = client.call("2", R"({"name":"sandbox_list"})");
  EXPECT_EQ(modern.client.era, Era::modern);
  EXPECT_EQ(legacy.client.era, Era::legacy);
  const auto first = json::parse(client.complete(modern.handle, done()));
  const auto second = json::parse(client.complete(legacy.handle, done()));
  EXPECT_EQ(first.at("result").at("resultType"), "complete");
  EXPECT_FALSE(second.at("result").contains("resultType"));
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":3,"method":"server/discover"})"), -32601);
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":3,"method":"ping","params":)" + modern_params("") + "}"),
            -32601);
}

TEST(McpSession, HandsOutACallWithItsArguments) {
  Client client;
  client.initialize();
  const auto call = client.call("\"c-1\"", R"({"name":"sandbox_run","arguments":{"command":"true"}})");
  EXPECT_EQ(call.tool, "sandbox_run");
  EXPECT_EQ(*call.arguments, json::parse(R"({"command":"true"})"));
  EXPECT_FALSE(call.wants_progress);
  EXPECT_EQ(call.client.name, "test");
  const auto answer = json::parse(client.complete(call.handle, done()));
  EXPECT_EQ(answer.at("id"), "c-1");
  EXPECT_EQ(answer.at("result").at("structuredContent"), json::parse(R"({"characters":3})"));
  EXPECT_TRUE(client.session.in_flight().empty());

  for (const char* params : {R"({"name":"sandbox_list"})", R"({"name":"sandbox_list","arguments":null})"}) {
    const auto bare = client.call("2", params);
    EXPECT_EQ(*bare.arguments, json::object());
    client.complete(bare.handle, done());
  }
}

TEST(McpSession, RefusesAnIdThatIsStillInFlight) {
  Client client;
  client.initialize();
  const auto call = client.call("7", R"({"name":"sandbox_list"})");
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":7,"method":"ping"})"), -32600);
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":"7","method":"ping"})"), 0) << "a string is another id";
  EXPECT_NE(client.complete(call.handle, done()), "");
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":7,"method":"ping"})"), 0);
}

TEST(McpSession, SendsNothingAfterACancel) {
  Client client;
  client.initialize();
  const auto call = client.call("7", R"({"name":"sandbox_run","_meta":{"progressToken":"t"}})");
  client.clock.advance(5s);
  const auto fed = client.feed(cancel("7"));
  const auto* event = std::get_if<CancelRequested>(&fed);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->handle, call.handle);
  EXPECT_EQ(event->reason, "user pressed Esc");
  EXPECT_TRUE(std::holds_alternative<Silence>(client.feed(cancel("7")))) << "once is enough";
  EXPECT_EQ(client.progress(call.handle, 1, 2, "late"), "");
  EXPECT_EQ(client.session.in_flight().size(), 1U) << "its work may still go on";
  EXPECT_EQ(client.complete(call.handle, done()), "");
  EXPECT_TRUE(client.session.in_flight().empty());
}

TEST(McpSession, IgnoresACancelThatComesAfterTheAnswer) {
  Client client;
  client.initialize();
  const auto call = client.call("7", R"({"name":"sandbox_list"})");
  client.complete(call.handle, done());
  EXPECT_TRUE(std::holds_alternative<Silence>(client.feed(cancel("7"))));
  EXPECT_EQ(client.complete(call.handle, done()), "") << "answered once";
}

TEST(McpSession, AnIdIsFreeAgainAfterACancel) {
  Client client;
  client.initialize();
  const auto first = client.call("7", R"({"name":"sandbox_list"})");
  client.feed(cancel("7"));
  const auto second = client.call("7", R"({"name":"sandbox_list"})");
  EXPECT_NE(first.handle, second.handle);
  EXPECT_EQ(client.complete(first.handle, done()), "");
  EXPECT_NE(client.complete(second.handle, done()), "");
}

TEST(McpSession, LimitsCallsInFlightAndCountsCancelledOnesUntilTheyEnd) {
  Client client(2);
  client.initialize();
  const auto one = client.call("1", R"({"name":"sandbox_list"})");
  client.call("2", R"({"name":"sandbox_list"})");
  client.feed(cancel("1"));
  const auto answer =
      client.ask(R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sandbox_list"}})");
  EXPECT_EQ(answer.at("result").at("isError"), true);
  const auto& facts = answer.at("result").at("structuredContent");
  EXPECT_EQ(facts.at("code"), "limit.calls_in_flight");
  EXPECT_EQ(facts.at("class"), gateway::tools::class_of("limit.calls_in_flight"));
  EXPECT_EQ(
      mcp_test::fault_in(gateway::tools::output_schema(*gateway::tools::find("sandbox_list")), facts.dump()),
      "");
  client.complete(one.handle, done());
  client.call("3", R"({"name":"sandbox_list"})");
}

TEST(McpSession, ReportsProgressOnlyWithATokenAndNotInTheFirstSecond) {
  Client client;
  client.initialize();
  const auto without = client.call("1", R"({"name":"sandbox_create"})");
  const auto with = client.call("2", R"({"name":"sandbox_create","_meta":{"progressToken":"tok\n"}})");
  EXPECT_TRUE(with.wants_progress);
  client.clock.advance(999ms);
  EXPECT_EQ(client.progress(with.handle, 1, 4, "cloning"), "");
  client.clock.advance(1ms);
  EXPECT_EQ(client.progress(without.handle, 1, 4, "cloning"), "");
  const auto line = json::parse(client.progress(with.handle, 2, 4, "booting"));
  EXPECT_EQ(line.at("params"),
            json::parse(R"({"progressToken":"tok\n","progress":2,"total":4,"message":"booting"})"));
  EXPECT_EQ(client.progress(with.handle, 2, 4, "booting"), "") << "not more than before";
  EXPECT_EQ(client.progress(with.handle, 1, 4, "back"), "");
  EXPECT_NE(client.progress(with.handle, 3, 0, ""), "");
  client.complete(with.handle, done());
  EXPECT_EQ(client.progress(with.handle, 4, 4, "late"), "");
}

TEST(McpSession, RefusesAProgressTokenThatIsNone) {
  Client client;
  client.initialize();
  for (const char* token : {"1.5", "{}", "true", "[1]"}) {
    EXPECT_EQ(
        client.code(
            R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sandbox_list","_meta":{"progressToken":)" +
            std::string(token) + "}}}"),
        -32602)
        << token;
  }
  const auto call =
      client.call("1", R"({"name":"sandbox_list","_meta":{"progressToken":null,"com.example/x":1}})");
  EXPECT_FALSE(call.wants_progress);
}

TEST(McpSession, ListsTheSameBytesAgainAndFollowsANewPolicy) {
  Client client;
  client.initialize();
  const std::string ask = R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})";
  const auto first = std::get<Answer>(client.feed(ask)).line;
  EXPECT_EQ(std::get<Answer>(client.feed(ask)).line, first);
  client.tools.list = gateway::tools::list_json([](const auto& tool) { return tool.annotations.read_only; });
  EXPECT_EQ(client.ask(ask).at("result").at("tools").size(), 3U);
  EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sandbox_run"}})"),
            2)
      << "what is not listed is still judged by policy, not by the list";
}

TEST(McpSession, KeepsHostileTextOnOneLineOfValidJson) {
  Client client;
  client.initialize();
  const auto call = client.call("1", R"({"name":"sandbox_list"})");
  ToolResult result;
  result.content.emplace_back(gateway::mcp::Text{"a\nb\xff\xed\xa0\x80\x1b[2J\xe2\x80\xa8"});
  result.content.emplace_back(gateway::mcp::Image{std::string("\0\xff\n", 3), "image/png"});
  result.structured = "{\n \"characters\": 1\r\n}";
  const auto line = client.complete(call.handle, result);
  EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos);
  const auto content = json::parse(line).at("result").at("content");
  EXPECT_EQ(content[0].at("text"), "a\nb\uFFFD\uFFFD\uFFFD\uFFFD\x1b[2J\u2028");
  EXPECT_EQ(content[1].at("data"), "AP8K");
}

TEST(McpSession, AnswersATooLongLine) {
  Client client;
  const auto answer = client.session.feed_too_long();
  EXPECT_EQ(answer.code, -32600);
  EXPECT_EQ(mcp_test::fault_against("2026-07-28", "JSONRPCErrorResponse", answer.line), "");
}

// Random interleavings of calls, progress, cancels, results and time.
TEST(McpSession, NeverSendsAnythingAfterAResultOrACancelAndProgressOnlyRises) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    Client client(8);
    client.initialize(seed % 2 == 0 ? "2024-11-05" : "2025-11-25");
    struct Call {
      CallHandle handle;
      std::string id, token;
      bool over = false, answered = false;
      int progress = -1;
    };
    std::vector<Call> calls;
    for (int step = 0; step < 200; ++step) {
      const auto choice = below(5);
      if (choice == 0 || calls.empty()) {
        const auto id = std::to_string(calls.size());
        const auto token = below(3) == 0 ? std::string() : "\"t" + id + "\"";
        const auto extra = token.empty() ? std::string() : R"(,"progressToken":)" + token;
        const std::string meta(kModernMeta.substr(0, kModernMeta.size() - 1));
        const std::string params = below(2) == 0
                                       ? "{" + meta + extra + R"(},"name":"sandbox_run"})"
                                       : R"({"_meta":{"a":1)" + extra + R"(},"name":"sandbox_run"})";
        auto fed = client.feed(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/call","params":)" +
                               params + "}");
        if (auto* event = std::get_if<gateway::mcp::CallRequested>(&fed)) {
          EXPECT_EQ(event->wants_progress, !token.empty());
          calls.push_back({event->handle, id, token});
        } else {
          EXPECT_EQ(std::get<Answer>(fed).code, 0) << "the limit is a tool's result";
        }
        continue;
      }
      auto& call = calls[below(static_cast<unsigned>(calls.size()))];
      if (choice == 1) {
        client.clock.advance(std::chrono::milliseconds(below(900)));
      } else if (choice == 2) {
        const int at = static_cast<int>(below(50));
        const auto line = client.progress(call.handle, at, 50, "x");
        if (line.empty()) continue;
        EXPECT_FALSE(call.over);
        EXPECT_FALSE(call.token.empty());
        EXPECT_GT(at, call.progress);
        EXPECT_EQ(json::parse(line).at("params").at("progressToken").dump(), call.token);
        call.progress = at;
      } else if (choice == 3) {
        const auto fed = client.feed(cancel(call.id));
        EXPECT_EQ(std::holds_alternative<CancelRequested>(fed), !call.over);
        call.over = true;
      } else {
        const auto line = client.complete(call.handle, done());
        EXPECT_EQ(line.empty(), call.over);
        if (!line.empty()) {
          EXPECT_EQ(json::parse(line).at("id").dump(), call.id);
        }
        call.over = true;
      }
    }
  }
}

}  // namespace
