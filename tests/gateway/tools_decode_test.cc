#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/tools/table.h"
#include "tests/gateway/mcp_schema.h"

namespace {

using namespace gateway::tools;
using nlohmann::json;

constexpr const char* kSandbox = "sbx-0123456789abcdef0123456789abcdef";
constexpr const char* kJob = "job-0123456789abcdef0123456789abcdef";

// A call with every required argument.
json complete_call(std::string_view tool) {
  json given = json::object();
  if (tool != "sandbox_create" && tool != "sandbox_list") given["sandbox_id"] = kSandbox;
  if (tool == "sandbox_run" || tool == "sandbox_start") given["command"] = "true";
  if (tool == "sandbox_check" || tool == "sandbox_stop") given["job_id"] = kJob;
  if (tool.starts_with("sandbox_copy"))
    given.update({{"host_path", "in/a.txt"}, {"guest_path", "/tmp/a.txt"}});
  if (tool == "sandbox_click") given.update({{"x", 3}, {"y", 4}});
  if (tool == "sandbox_type") given["text"] = "hello\n";
  if (tool == "sandbox_key") given["keys"] = "ctrl+s";
  if (tool == "sandbox_extend") given["minutes"] = 30;
  return given;
}

template <class T>
T decoded(std::string_view tool, const json& given) {
  auto call = decode(*find(tool), given);
  EXPECT_TRUE(call) << (call ? "" : call.error().message);
  return std::get<T>(std::move(*call));
}

TEST(ToolDecode, GivesEachToolItsTypedCall) {
  EXPECT_EQ(decoded<policy::Create>("sandbox_create", json::object()).network, policy::Network::none);
  EXPECT_EQ(decoded<policy::Create>("sandbox_create", {{"network", "web"}}).network, policy::Network::web);
  const auto run = decoded<policy::Run>("sandbox_run", complete_call("sandbox_run"));
  EXPECT_EQ(run.sandbox.text(), kSandbox);
  EXPECT_EQ(run.command, "true");
  EXPECT_EQ(run.timeout, std::chrono::seconds(120));
  const auto check = decoded<Check>("sandbox_check", complete_call("sandbox_check"));
  EXPECT_EQ(check.action.job.text(), kJob);
  EXPECT_FALSE(check.from.out || check.from.err);
  auto with_offset = complete_call("sandbox_check");
  with_offset["stdout_offset"] = 70'000;
  EXPECT_EQ(decoded<Check>("sandbox_check", with_offset).from.out, 70'000U);
  const auto copy = decoded<CopyIn>("sandbox_copy_in", complete_call("sandbox_copy_in"));
  EXPECT_EQ(copy.host_path.text(), "in/a.txt");
  EXPECT_EQ(copy.guest_path.text(), "/tmp/a.txt");
  EXPECT_EQ(decoded<policy::FetchOut>("sandbox_copy_out", complete_call("sandbox_copy_out")).host_path.text(),
            "in/a.txt");
  const auto click = decoded<policy::Click>("sandbox_click", complete_call("sandbox_click"));
  EXPECT_EQ(click.x, 3);
  EXPECT_EQ(click.count, 1);
  auto twice = complete_call("sandbox_click");
  twice.update({{"button", "middle"}, {"double", true}});
  EXPECT_EQ(decoded<policy::Click>("sandbox_click", twice).button, policy::MouseButton::middle);
  EXPECT_EQ(decoded<policy::Click>("sandbox_click", twice).count, 2);
  EXPECT_EQ(decoded<policy::Extend>("sandbox_extend", complete_call("sandbox_extend")).by,
            std::chrono::minutes(30));
  EXPECT_EQ(decoded<policy::Destroy>("sandbox_destroy", complete_call("sandbox_destroy")).cause,
            policy::DestroyCause::asked);
  decoded<policy::Start>("sandbox_start", complete_call("sandbox_start"));
  decoded<policy::Stop>("sandbox_stop", complete_call("sandbox_stop"));
  decoded<policy::Screenshot>("sandbox_screenshot", complete_call("sandbox_screenshot"));
  decoded<policy::TypeText>("sandbox_type", complete_call("sandbox_type"));
  decoded<policy::PressKey>("sandbox_key", complete_call("sandbox_key"));
  decoded<policy::List>("sandbox_list", json::object());
}

TEST(ToolDecode, TakesNumbersAndBooleansAsTextAndNullForNothing) {
  auto run = complete_call("sandbox_run");
  for (const json& value : {json("45"), json(45), json(45.0), json("45.0")}) {
    run["timeout_seconds"] = value;
    EXPECT_EQ(decoded<policy::Run>("sandbox_run", run).timeout, std::chrono::seconds(45)) << value;
  }
  run["timeout_seconds"] = nullptr;
  EXPECT_EQ(decoded<policy::Run>("sandbox_run", run).timeout, std::chrono::seconds(120));
  run["command"] = "5";
  EXPECT_EQ(decoded<policy::Run>("sandbox_run", run).command, "5") << "text stays text";
  auto click = complete_call("sandbox_click");
  click["double"] = "true";
  EXPECT_EQ(decoded<policy::Click>("sandbox_click", click).count, 2);
}

TEST(ToolDecode, RefusesAndNamesTheArgument) {
  struct Row {
    std::string tool, name;
    json value;
    std::string code;
  };
  const Row rows[] = {
      {"sandbox_run", "sandbox_id", nullptr, "argument.missing"},
      {"sandbox_run", "sandbox_id", 7, "argument.type"},
      {"sandbox_run", "sandbox_id", "sbx-1", "sandbox.unknown"},
      {"sandbox_run", "sandbox_id", "../../etc", "sandbox.unknown"},
      {"sandbox_run", "sandbox_id", kJob, "sandbox.unknown"},
      {"sandbox_run", "sandbox_id", std::string(65, 'a'), "argument.too_long"},
      {"sandbox_run", "command", 5, "argument.type"},
      {"sandbox_run", "command", json::array(), "argument.type"},
      {"sandbox_run", "command", std::string("a\0b", 3), "argument.character"},
      {"sandbox_run", "command", std::string(100'001, 'a'), "argument.too_long"},
      {"sandbox_run", "timeout_seconds", 0, "argument.range"},
      {"sandbox_run", "timeout_seconds", 3601, "argument.range"},
      {"sandbox_run", "timeout_seconds", -1, "argument.range"},
      {"sandbox_run", "timeout_seconds", 1.5, "argument.type"},
      {"sandbox_run", "timeout_seconds", "1.5", "argument.type"},
      {"sandbox_run", "timeout_seconds", "ten", "argument.type"},
      {"sandbox_run", "timeout_seconds", "10 ", ""},
      {"sandbox_run", "timeout_seconds", "10 10", "argument.type"},
      {"sandbox_run", "timeout_seconds", "[10]", "argument.type"},
      {"sandbox_run", "timeout_seconds", true, "argument.type"},
      {"sandbox_run", "timeout_seconds", 1e300, "argument.type"},
      {"sandbox_run", "extra", 1, "argument.unknown"},
      {"sandbox_list", "sandbox_id", kSandbox, "argument.unknown"},
      {"sandbox_create", "network", "bridge", "argument.choice"},
      {"sandbox_create", "network", "NAT", "argument.choice"},
      {"sandbox_click", "x", -1, "argument.range"},
      {"sandbox_click", "double", 1, "argument.type"},
      {"sandbox_click", "double", "yes", "argument.type"},
      {"sandbox_click", "button", "fourth", "argument.choice"},
      {"sandbox_type", "text", std::string(10'001, 'a'), "argument.too_long"},
      {"sandbox_copy_in", "guest_path", "relative", "path."},
      {"sandbox_copy_in", "guest_path", "", "path."},
      {"sandbox_copy_in", "host_path", "/etc/passwd", "path."},
      {"sandbox_copy_in", "host_path", "a/../../b", "path."},
      {"sandbox_copy_out", "host_path", "../up", "path."},
      {"sandbox_check", "stdout_offset", -1, "argument.range"},
      {"sandbox_check", "job_id", kSandbox, "job.unknown"},
  };
  for (const auto& row : rows) {
    auto given = complete_call(row.tool);
    given[row.name] = row.value;
    SCOPED_TRACE(row.tool + " " + row.name + " " + row.value.dump().substr(0, 40));
    const auto call = decode(*find(row.tool), given);
    EXPECT_EQ(call.has_value(), row.code.empty());
    if (call || row.code.empty()) continue;
    EXPECT_TRUE(call.error().code == row.code ||
                (row.code.ends_with('.') && call.error().code.starts_with(row.code)))
        << call.error().code;
    EXPECT_EQ(call.error().where, row.name);
    EXPECT_LT(call.error().message.size(), 500U);
  }
}

TEST(ToolDecode, RefusesArgumentsThatAreNoObject) {
  EXPECT_EQ(decode(*find("sandbox_list"), json::array()).error().code, "argument.type");
  EXPECT_EQ(decode_text(*find("sandbox_list"), "{").error().code, "argument.json");
  EXPECT_TRUE(decode_text(*find("sandbox_list"), "{}"));
}

// Decoder and schema come from one table and must not disagree about what is well-formed.
TEST(ToolDecode, AcceptsWhatTheInputSchemaAccepts) {
  for (const auto& tool : all()) {
    const auto whole = complete_call(tool.name);
    EXPECT_EQ(mcp_test::fault_in(input_schema(tool), whole.dump()), "") << tool.name;
    EXPECT_TRUE(decode(tool, whole)) << tool.name;
    for (const auto& field : tool.fields) {
      auto without = whole;
      without.erase(field.name);
      EXPECT_EQ(decode(tool, without).has_value(),
                mcp_test::fault_in(input_schema(tool), without.dump()).empty())
          << tool.name << " " << field.name;
      for (const json& odd : {json(-1), json(0.5), json::array(), json::object(), json("\n")}) {
        auto other = whole;
        other[std::string(field.name)] = odd;
        if (decode(tool, other)) {
          EXPECT_EQ(mcp_test::fault_in(input_schema(tool), other.dump()), "")
              << tool.name << " " << field.name << odd;
        }
      }
    }
  }
}

}  // namespace
