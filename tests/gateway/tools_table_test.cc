#include "gateway/tools/table.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "policy/action.h"
#include "tests/gateway/mcp_schema.h"

namespace {

using namespace gateway::tools;
using nlohmann::json;

TEST(ToolTable, HasTheThirteenToolsAndOneForTheCommandLine) {
  const std::vector<std::string> names = callable_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"sandbox_create", "sandbox_run", "sandbox_start", "sandbox_check",
                                   "sandbox_stop", "sandbox_copy_in", "sandbox_copy_out",
                                   "sandbox_screenshot", "sandbox_click", "sandbox_type", "sandbox_key",
                                   "sandbox_destroy", "sandbox_list"}));
  EXPECT_EQ(names.size(), 13U);
  ASSERT_NE(find("sandbox_extend"), nullptr);
  EXPECT_EQ(find("sandbox_extend")->visibility, Visibility::cli);
  EXPECT_EQ(find("sandbox_nothing"), nullptr);
}

TEST(ToolTable, IsWithinWhatClientsTake) {
  for (const auto& tool : all()) {
    SCOPED_TRACE(tool.name);
    EXPECT_LE(tool.name.size() + 2 + std::string_view("sallyport").size(), 60U);
    EXPECT_TRUE(std::ranges::all_of(tool.name, [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); }));
    EXPECT_FALSE(tool.title.empty());
    EXPECT_LT(tool.description.size(), 2048U);
    EXPECT_FALSE(tool.annotations.read_only && tool.annotations.destructive);
    std::set<std::string_view> names;
    for (const auto& field : tool.fields) {
      EXPECT_TRUE(names.insert(field.name).second);
      EXPECT_FALSE(field.description.empty());
      EXPECT_TRUE(field.type != FieldType::string || field.max_length != 0 || !field.choices.empty())
          << field.name;
      EXPECT_TRUE(field.presence == Presence::optional || field.default_value.empty()) << field.name;
    }
    for (const auto& field : tool.results) {
      EXPECT_TRUE(std::ranges::none_of(refusal_fields(),
                                       [&](const Field& other) { return other.name == field.name; }))
          << field.name << " would mean two things";
    }
  }
}

void expect_plain(const json& schema, const std::string& at) {
  for (const char* keyword : {"oneOf", "anyOf", "allOf", "not", "$ref", "if"})
    EXPECT_FALSE(schema.contains(keyword)) << at;
  ASSERT_TRUE(schema.contains("type")) << at;
  ASSERT_TRUE(schema.at("type").is_string()) << at << ": a union of types";
  if (schema.at("type") == "array") expect_plain(schema.at("items"), at + "[]");
  if (schema.at("type") != "object") return;
  if (schema.contains("properties")) {
    for (const auto& [name, member] : schema.at("properties").items()) expect_plain(member, at + "." + name);
  }
}

TEST(ToolTable, HasPortableSchemas) {
  for (const auto& tool : all()) {
    const json input = json::parse(input_schema(tool));
    EXPECT_EQ(input.at("type"), "object");
    EXPECT_EQ(input.at("additionalProperties"), false);
    expect_plain(input, std::string(tool.name));
    json output = json::parse(output_schema(tool));
    EXPECT_EQ(output.at("type"), "object");
    // The one combinator: a success or a refusal.
    EXPECT_EQ(output.erase("anyOf"), 1U);
    expect_plain(output, std::string(tool.name) + " result");
  }
}

TEST(ToolTable, SetsEveryHintAndMarksReadingAndDestroying) {
  const json list = json::parse(list_json());
  std::set<std::string> read_only, destructive;
  for (const auto& tool : list) {
    for (const char* hint : {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}) {
      EXPECT_TRUE(tool.at("annotations").at(hint).is_boolean());
    }
    if (tool.at("annotations").at("readOnlyHint")) read_only.insert(tool.at("name"));
    if (tool.at("annotations").at("destructiveHint")) destructive.insert(tool.at("name"));
    for (const char* revision : {"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
      EXPECT_EQ(mcp_test::fault_against(revision, "Tool", tool.dump()), "") << tool.at("name");
    }
  }
  EXPECT_EQ(read_only, (std::set<std::string>{"sandbox_check", "sandbox_list", "sandbox_screenshot"}));
  EXPECT_EQ(destructive, (std::set<std::string>{"sandbox_copy_out", "sandbox_destroy"}));
}

TEST(ToolTable, NamesActionsThatPolicyKnows) {
  const std::set<std::string_view> actions{
      policy::Create::kName,     policy::List::kName,   policy::Run::kName,      policy::Start::kName,
      policy::Check::kName,      policy::Stop::kName,   policy::CopyIn::kName,   policy::FetchOut::kName,
      policy::Screenshot::kName, policy::Click::kName,  policy::TypeText::kName, policy::PressKey::kName,
      policy::Extend::kName,     policy::Destroy::kName};
  for (const auto& tool : all()) EXPECT_TRUE(actions.contains(tool.action)) << tool.name;
}

// To renew: write list_json(), indented by two, into the file after reading the difference.
TEST(ToolTable, IsTheListThatWasReviewed) {
  const json list = json::parse(list_json());
  const auto path = SALLYPORT_SOURCE_DIR "/tests/data/tools/list.json";
  EXPECT_EQ(mcp_test::read_file(path), nlohmann::ordered_json::parse(list_json()).dump(2) + "\n");
  EXPECT_EQ(list.size(), 13U);
  EXPECT_EQ(digest(), policy::sha256(list_json()));
  EXPECT_LT(list_json().size(), 100'000U);
}

TEST(ToolTable, ListsAChosenPartInTheSameOrder) {
  const auto part = json::parse(list_json([](const Tool& tool) { return tool.annotations.read_only; }));
  ASSERT_EQ(part.size(), 3U);
  EXPECT_EQ(part[0].at("name"), "sandbox_check");
  EXPECT_EQ(list_json([](const Tool&) { return false; }), "[]");
}

TEST(ToolTable, IsWhatTheDocumentationSays) {
  EXPECT_EQ(mcp_test::read_file(SALLYPORT_SOURCE_DIR "/docs/tools.md"), markdown())
      << "write `sallyport tools --markdown` to docs/tools.md";
}

}  // namespace
