#pragma once

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/mcp/session.h"
#include "gateway/tools/table.h"
#include "tests/fakes/fake_clock.h"
#include "tests/gateway/mcp_schema.h"

namespace mcp_test {

inline constexpr std::string_view kModernMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

// A session with a client's hand on it. Every line that comes out is checked against the schema of the
// revision spoken.
class Client {
 public:
  explicit Client(std::size_t max_calls = 64)
      : tools{gateway::tools::list_json(), gateway::tools::callable_names()},
        session(
            gateway::mcp::Session::Parts{.server_version = "1.2.3",
                                         .instructions = gateway::mcp::default_instructions(),
                                         .tools = [this]() -> const gateway::mcp::Tools& { return tools; },
                                         .clock = &clock,
                                         .max_calls = max_calls}) {}

  gateway::mcp::Fed feed(std::string_view line) {
    auto fed = session.feed(line);
    if (const auto* answer = std::get_if<gateway::mcp::Answer>(&fed)) check(line, answer->line);
    return fed;
  }
  // The answer as JSON; null for silence and events.
  nlohmann::json ask(std::string_view line) {
    const auto fed = feed(line);
    const auto* answer = std::get_if<gateway::mcp::Answer>(&fed);
    return answer == nullptr ? nlohmann::json() : nlohmann::json::parse(answer->line);
  }
  // The error code of the answer; 0 for a result, 1 for silence, 2 for an event.
  int code(std::string_view line) {
    const auto fed = feed(line);
    if (const auto* answer = std::get_if<gateway::mcp::Answer>(&fed)) return answer->code;
    return std::holds_alternative<gateway::mcp::Silence>(fed) ? 1 : 2;
  }
  void initialize(std::string_view revision = "2025-11-25", std::string_view capabilities = "{}") {
    const auto answer =
        ask(R"({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":")" +
            std::string(revision) + R"(","capabilities":)" + std::string(capabilities) +
            R"(,"clientInfo":{"name":"test","version":"1"}}})");
    ASSERT_EQ(answer.at("result").at("protocolVersion"), revision);
    EXPECT_EQ(code(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), 1);
  }
  // `id` and `params` are JSON; a call that must be taken.
  gateway::mcp::CallRequested call(std::string_view id, std::string_view params) {
    auto fed = feed(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"tools/call","params":)" +
                    std::string(params) + "}");
    auto* event = std::get_if<gateway::mcp::CallRequested>(&fed);
    EXPECT_NE(event, nullptr) << params;
    return event == nullptr ? gateway::mcp::CallRequested{} : std::move(*event);
  }
  // With a result, or with a question for the person.
  std::string complete(gateway::mcp::CallHandle handle, const auto& result) {
    return checked(session.complete(handle, result));
  }
  std::string elicit(const gateway::mcp::Elicitation& asked) { return checked(session.elicit(asked)); }
  std::string withdraw(std::string_view question) { return checked(session.withdraw(question)); }
  std::string progress(gateway::mcp::CallHandle handle, int done, int total, std::string_view message) {
    auto line = session.progress(handle, done, total, message);
    if (!line.empty()) {
      EXPECT_EQ(fault_in_line(revision(line), "", line), "");
    }
    return line;
  }

  fakes::FakeClock clock;
  gateway::mcp::Tools tools;
  gateway::mcp::Session session;

 private:
  std::string checked(std::string line) const {
    if (!line.empty()) {
      EXPECT_EQ(fault_in_line(revision(line), "tools/call", line), "");
    }
    return line;
  }
  std::string revision(std::string_view line) const {
    if (line.find("\"resultType\"") != std::string_view::npos) return "2026-07-28";
    return session.client() ? session.client()->protocol : "2025-11-25";
  }
  void check(std::string_view asked, const std::string& line) const {
    const auto request = nlohmann::json::parse(asked, nullptr, false);
    const bool named = request.is_object() && request.contains("method") && request["method"].is_string();
    const std::string method = named ? request["method"].get<std::string>() : std::string();
    EXPECT_EQ(fault_in_line(revision(line), method, line), "") << asked.substr(0, 200) << "\n"
                                                               << line.substr(0, 400);
  }
};

}  // namespace mcp_test
