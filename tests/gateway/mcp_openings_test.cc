#include "tests/gateway/mcp_client.h"

// Whatever comes first on a fresh connection gets the answer the protocol wants, and a client that starts
// properly afterwards is served as if nothing had been.
namespace {

using mcp_test::Client;
using mcp_test::kModernMeta;

struct Opening {
  std::string name;
  std::string line;
  int code;             // 0 a result, 1 silence, 2 a call to carry out
  std::string id = {};  // JSON of the answer's id; empty: it has none
};

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::string request(std::string_view id, std::string_view method, std::string_view params = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) + "\"" +
         (params.empty() ? "" : ",\"params\":" + std::string(params)) + "}";
}

std::string modern(std::string_view id, std::string_view method, std::string_view more = "") {
  return request(id, method, "{" + std::string(kModernMeta) + std::string(more) + "}");
}

std::string meta(std::string_view members) { return R"({"_meta":{)" + std::string(members) + "}}"; }

constexpr std::string_view kVersion = R"("io.modelcontextprotocol/protocolVersion":)";
constexpr std::string_view kCapabilities = R"("io.modelcontextprotocol/clientCapabilities":)";

std::vector<Opening> openings() {
  const std::string version(kVersion), capabilities(kCapabilities);
  const std::string hello =
      R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}})";
  return {
      {"an empty line", "", -32700},
      {"blanks", "  \t\r", -32700},
      {"garbage", "hello", -32700},
      {"an HTTP request", "GET / HTTP/1.1", -32700},
      {"half a message", R"({"jsonrpc":"2.0","id":1,"meth)", -32700},
      {"two messages on a line", request("1", "ping") + request("2", "ping"), -32700},
      {"bytes that are not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
      {"a UTF-16 message", std::string("{\0\"\0", 4), -32700},
      {"a NUL byte", std::string("\0", 1), -32700},
      {"a lone surrogate", R"({"jsonrpc":"2.0","id":1,"method":"\ud800"})", -32700},
      {"a number", "7", -32600},
      {"a string", "\"ping\"", -32600},
      {"null", "null", -32600},
      {"an empty object", "{}", -32600},
      {"an empty batch", "[]", -32600},
      {"a batch", "[" + request("1", "ping") + "]", -32600},
      {"a batch of initialize", "[" + request("1", "initialize", hello) + "]", -32600},
      {"no jsonrpc", R"({"id":5,"method":"ping"})", -32600, "5"},
      {"jsonrpc 1.0", R"({"jsonrpc":"1.0","id":5,"method":"ping"})", -32600, "5"},
      {"jsonrpc as a number", R"({"jsonrpc":2.0,"id":5,"method":"ping"})", -32600, "5"},
      {"an id that is null", request("null", "ping"), -32600},
      {"an id that is a fraction", request("1.5", "ping"), -32600},
      {"an id that is true", request("true", "ping"), -32600},
      {"an id that is an object", request("{}", "ping"), -32600},
      {"an id beyond 2^53", request("9007199254740993", "ping"), -32600},
      {"an id of 2000 characters", request("\"" + std::string(2000, 'i') + "\"", "ping"), -32600},
      {"a method that is a number", R"({"jsonrpc":"2.0","id":1,"method":7})", -32600, "1"},
      {"a method of 10000 characters", request("1", std::string(10'000, 'm')), -32600, "1"},
      {"no method", R"({"jsonrpc":"2.0","id":1})", -32600, "1"},
      {"a method and a result", R"({"jsonrpc":"2.0","id":1,"method":"ping","result":{}})", -32600, "1"},
      {"duplicate keys", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}})", -32600, "1"},
      {"two methods", R"({"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"})", -32600, "1"},
      {"two ids", R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", -32600},
      {"10,000 arrays in one another", repeated("[", 10'000), -32600},
      {"10,000 objects in one another", request("1", "ping", repeated("{\"a\":", 10'000)), -32600, "1"},
      {"65 levels", request("1", "ping", "{\"a\":" + repeated("[", 64) + repeated("]", 64) + "}"), -32600,
       "1"},
      {"10 MiB and more", request("1", "ping", "{\"a\":\"" + std::string(10 << 20, 'x') + "\"}"), -32600},
      {"millions of values", request("1", "ping", "{\"a\":[" + repeated("[],", 1'000'000) + "1]}"), -32600,
       "1"},
      {"params by position", request("1", "tools/list", "[1,2]"), -32602, "1"},
      {"params that are null", request("1", "tools/list", "null"), -32602, "1"},
      {"a response", R"({"jsonrpc":"2.0","id":1,"result":{}})", 1},
      {"an error response", R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}})", 1},
      {"notifications/initialized", R"({"jsonrpc":"2.0","method":"notifications/initialized"})", 1},
      {"a cancel of nothing",
       R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})", 1},
      {"a cancel without params", R"({"jsonrpc":"2.0","method":"notifications/cancelled"})", 1},
      {"a cancel with a bad id",
       R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}})", 1},
      {"an unknown notification", R"({"jsonrpc":"2.0","method":"notifications/whatever","params":{}})", 1},
      {"a request sent as a notification", R"({"jsonrpc":"2.0","method":"tools/list"})", 1},
      {"a notification with params by position", R"({"jsonrpc":"2.0","method":"x","params":[1]})", 1},
      {"ping", request("1", "ping"), 0, "1"},
      {"ping with a string id", request("\"p-1\"", "ping"), 0, "\"p-1\""},
      {"ping with an empty string id", request("\"\"", "ping"), 0, "\"\""},
      {"ping with id 0", request("0", "ping"), 0, "0"},
      {"ping with a negative id", request("-3", "ping"), 0, "-3"},
      {"ping with id 2^53", request("9007199254740992", "ping"), 0, "9007199254740992"},
      {"ping with unknown members", R"({"jsonrpc":"2.0","id":1,"method":"ping","extra":{},"params":{"x":1}})",
       0, "1"},
      {"initialize without params", request("1", "initialize"), -32602, "1"},
      {"initialize with a numeric version", request("1", "initialize", R"({"protocolVersion":1})"), -32602,
       "1"},
      {"an unknown method", request("1", "no/such"), -32601, "1"},
      {"an empty method", request("1", ""), -32601, "1"},
      {"resources/list", request("1", "resources/list"), -32601, "1"},
      {"prompts/list", request("1", "prompts/list"), -32601, "1"},
      {"logging/setLevel", request("1", "logging/setLevel", R"({"level":"info"})"), -32601, "1"},
      {"completion/complete", request("1", "completion/complete", "{}"), -32601, "1"},
      {"tools/list before initialize", request("1", "tools/list"), -32602, "1"},
      {"tools/call before initialize", request("1", "tools/call", R"({"name":"sandbox_list"})"), -32602, "1"},
      {"server/discover without _meta", request("\"server-discover-probe-1\"", "server/discover"), -32602,
       "\"server-discover-probe-1\""},
      {"server/discover", modern("\"server-discover-probe-1\"", "server/discover"), 0,
       "\"server-discover-probe-1\""},
      {"discover, no capabilities", request("1", "server/discover", meta(version + "\"2026-07-28\"")), -32602,
       "1"},
      {"discover, bad capabilities",
       request("1", "server/discover", meta(version + "\"2026-07-28\"," + capabilities + "[]")), -32602, "1"},
      {"discover, a numeric version",
       request("1", "server/discover", meta(version + "1," + capabilities + "{}")), -32602, "1"},
      {"discover, an unknown version",
       request("1", "server/discover", meta(version + "\"1900-01-01\"," + capabilities + "{}")), -32022, "1"},
      {"discover, a legacy version",
       request("1", "server/discover", meta(version + "\"2025-11-25\"," + capabilities + "{}")), -32022, "1"},
      {"discover, bad clientInfo",
       request("1", "server/discover",
               meta(version + "\"2026-07-28\"," + capabilities +
                    R"({},"io.modelcontextprotocol/clientInfo":{"name":1})")),
       -32602, "1"},
      {"modern tools/list", modern("1", "tools/list"), 0, "1"},
      {"modern tools/list, a cursor", modern("1", "tools/list", R"(,"cursor":"2")"), -32602, "1"},
      {"modern tools/call", modern("1", "tools/call", R"(,"name":"sandbox_list")"), 2},
      {"modern tools/call, unknown tool", modern("1", "tools/call", R"(,"name":"rm")"), -32602, "1"},
      {"modern tools/call, a tool of the command line",
       modern("1", "tools/call", R"(,"name":"sandbox_extend")"), -32602, "1"},
      {"modern tools/call, no name", modern("1", "tools/call"), -32602, "1"},
      {"modern tools/call, arguments as text",
       modern("1", "tools/call", R"(,"name":"sandbox_list","arguments":"{}")"), -32602, "1"},
      {"modern ping", modern("1", "ping"), -32601, "1"},
      {"modern initialize", modern("1", "initialize"), -32601, "1"},
      {"modern subscriptions/listen", modern("1", "subscriptions/listen"), -32601, "1"},
      {"_meta that is a string", request("1", "tools/list", R"({"_meta":"x"})"), -32602, "1"},
  };
}

TEST(McpOpenings, AnyFirstLineGetsItsAnswerAndHurtsNothing) {
  const auto table = openings();
  ASSERT_GE(table.size(), 50U);
  for (const auto& opening : table) {
    SCOPED_TRACE(opening.name);
    Client client;
    const auto fed = client.feed(opening.line);
    if (opening.code == 1) {
      EXPECT_TRUE(std::holds_alternative<gateway::mcp::Silence>(fed));
    } else if (opening.code == 2) {
      EXPECT_TRUE(std::holds_alternative<gateway::mcp::CallRequested>(fed));
    } else {
      const auto* answer = std::get_if<gateway::mcp::Answer>(&fed);
      ASSERT_NE(answer, nullptr);
      const auto message = nlohmann::json::parse(answer->line);
      EXPECT_EQ(answer->code, opening.code) << answer->line.substr(0, 300);
      EXPECT_EQ(opening.code == 0, message.contains("result"));
      if (opening.code != 0) {
        EXPECT_EQ(message.at("error").at("code"), opening.code);
      }
      EXPECT_EQ(message.contains("id") ? message.at("id").dump() : std::string(), opening.id);
      EXPECT_LT(answer->line.size(), 100'000U);
    }
    client.initialize();
    EXPECT_EQ(client.code(R"({"jsonrpc":"2.0","id":"after","method":"ping"})"), 0);
  }
}

}  // namespace
