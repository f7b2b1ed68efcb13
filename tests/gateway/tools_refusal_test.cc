#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/mcp/writer.h"
#include "gateway/tools/encode.h"
#include "gateway/tools/table.h"
#include "tests/gateway/mcp_schema.h"

namespace {

using namespace gateway::tools;
using gateway::mcp::Text;
using gateway::mcp::ToolOutcome;
using nlohmann::json;

// A refusal fits the output schema of every tool: official clients check it.
json facts(const ToolResult& result) {
  EXPECT_EQ(result.outcome, ToolOutcome::error);
  EXPECT_EQ(result.content.size(), 1U);
  EXPECT_LT(std::get<Text>(result.content.front()).text.size(), 10'000U);
  for (const auto& tool : all())
    EXPECT_EQ(mcp_test::fault_in(output_schema(tool), result.structured), "") << tool.name;
  return json::parse(result.structured);
}

policy::Denial denial() {
  return {.code = "deny.rule",
          .rule = {"nat-off", "user", "/home/someone/policy.yaml:31:3"},
          .reason = "network `nat` reaches this computer",
          .hint = "use network `web`",
          .policy = policy::sha256("p"),
          .receipt = {}};
}

TEST(ToolRefusal, SaysWhatWasRefusedByWhichRuleAndWhatToDoInstead) {
  const auto result = refused(denial());
  EXPECT_EQ(facts(result), json({{"decision", "deny"},
                                 {"code", "deny.rule"},
                                 {"class", "policy"},
                                 {"rule", "nat-off"},
                                 {"policy_version", "sha256:" + policy::sha256("p").hex()},
                                 {"retryable", false},
                                 {"reason", "network `nat` reaches this computer"},
                                 {"hint", "use network `web`"}}));
  const auto& text = std::get<Text>(result.content.front()).text;
  for (const char* part : {"nat-off", "reaches this computer", "use network `web`", "other ways"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(ToolRefusal, NeverNamesTheFileOfTheRule) {
  const auto result = refused(denial());
  EXPECT_EQ(gateway::mcp::tool_result_members(result).find("/home/"), std::string::npos);
  const auto fault = failed({"vmrun.timeout", "the machine did not answer", "/home/someone/x.vmx:1:1"});
  EXPECT_EQ(gateway::mcp::tool_result_members(fault).find("/home/"), std::string::npos);
}

TEST(ToolRefusal, AsksForAPerson) {
  const policy::Ask ask{.rule = {"web-asks", "user", ""},
                        .reason = "web access",
                        .who = "user:alice",
                        .within = std::chrono::minutes(5),
                        .action = policy::sha256("a"),
                        .action_name = "create",
                        .what = {},
                        .policy = policy::sha256("p"),
                        .receipt = {}};
  using Kind = gateway::Desk::Reply::Kind;
  const auto asked = facts(unanswered(ask, {Kind::waiting, "ask-1", {}, std::chrono::seconds(290)}));
  EXPECT_EQ(asked.at("decision"), "ask");
  EXPECT_EQ(asked.at("code"), "approval.waiting");
  EXPECT_EQ(asked.at("class"), "approval");
  EXPECT_EQ(asked.at("approval_id"), "ask-1");
  EXPECT_EQ(asked.at("approval_within_seconds"), 290);
  EXPECT_EQ(asked.at("retryable"), true);
  struct Row {
    Kind kind;
    const char *decision, *code;
  };
  for (const auto& row :
       {Row{Kind::denied, "deny", "approval.denied"}, Row{Kind::expired, "deny", "approval.expired"},
        Row{Kind::too_many, "deny", "approval.too_many"}, Row{Kind::too_long, "deny", "approval.too_long"},
        Row{Kind::cancelled, "error", "cancelled"}}) {
    const auto told = facts(unanswered(ask, {row.kind, "ask-1", {}, {}}));
    EXPECT_EQ(told.at("decision"), row.decision);
    EXPECT_EQ(told.at("code"), row.code);
  }
}

TEST(ToolRefusal, SortsCodesIntoAClosedListOfClasses) {
  struct Row {
    const char *code, *cls;
    bool retryable;
  };
  const Row rows[] = {
      {"deny.default", "policy", false},
      {"deny.limit", "limit", true},
      {"limit.sandboxes", "limit", true},
      {"deny.audit", "audit", true},
      {"deny.stopped", "stopped", false},
      {"path.link", "path", false},
      {"archive.entry", "content", false},
      {"sandbox.unknown", "unknown_id", false},
      {"job.unknown", "unknown_id", false},
      {"vmrun.timeout", "timeout", true},
      {"vmrun.command", "hypervisor", true},
      {"guest.not_ready", "guest", true},
      {"guest.login", "configuration", false},
      {"settings.password", "configuration", false},
      {"input.key", "input", false},
      {"cancelled", "cancelled", false},
      {"argument.type", "argument", false},
      {"something.else", "internal", false},
      {"", "internal", false},
  };
  for (const auto& row : rows) {
    const auto shown = facts(failed({row.code, "x"}));
    EXPECT_EQ(shown.at("class"), row.cls) << row.code;
    EXPECT_EQ(shown.at("retryable"), row.retryable) << row.code;
    EXPECT_EQ(class_of(row.code), row.cls);
  }
}

TEST(ToolRefusal, NamesTheWrongArgument) {
  const auto call = decode(*find("sandbox_run"), json{{"command", "true"}});
  const auto shown = facts(bad_argument(call.error()));
  EXPECT_EQ(shown.at("field"), "sandbox_id");
  EXPECT_EQ(shown.at("code"), "argument.missing");
}

TEST(ToolRefusal, BoundsAndCleansLongReasons) {
  auto long_one = denial();
  long_one.reason = std::string(100'000, 'x') + "\xff";
  long_one.hint = "\xff\n\x1b";
  const auto shown = facts(refused(long_one));
  EXPECT_EQ(shown.at("reason").get<std::string>().size(), 4000U);
  EXPECT_EQ(shown.at("hint"), "\uFFFD\n\x1b");
}

}  // namespace
