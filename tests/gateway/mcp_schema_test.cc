#include "tests/gateway/mcp_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;

TEST(McpSchema, AcceptsEveryOfficialExample) {
  const json examples =
      json::parse(mcp_test::read_file(SALLYPORT_SOURCE_DIR "/tests/data/mcp/2026-07-28.examples.json"));
  int checked = 0;
  for (const auto& [definition, named] : examples.items()) {
    for (const auto& [name, message] : named.items()) {
      EXPECT_EQ(mcp_test::fault_against("2026-07-28", definition, message.dump()), "")
          << definition << " " << name;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 129);
}

TEST(McpSchema, RefusesDamagedMessages) {
  using mcp_test::fault_against;
  EXPECT_NE(fault_against("2026-07-28", "DiscoverResult", R"({"resultType":"complete"})"), "");
  EXPECT_NE(fault_against("2026-07-28", "CallToolResult",
                          R"({"resultType":"complete","content":[{"type":"text"}]})"),
            "");
  EXPECT_NE(fault_against("2025-11-25", "InitializeResult", R"({"protocolVersion":1})"), "");
  EXPECT_NE(fault_against("2024-11-05", "JSONRPCResponse", R"({"jsonrpc":"2.0","id":null,"result":{}})"), "");
  EXPECT_NE(mcp_test::fault_in(R"({"type":"object","additionalProperties":false})", R"({"a":1})"), "");
}

}  // namespace
