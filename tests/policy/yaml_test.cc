#include "policy/yaml.h"

#include <gtest/gtest.h>

#include <string>

namespace policy::yaml {
namespace {

struct Refused {
  const char* name;
  std::string text;
  const char* code;
  Position at;
};

std::vector<Diagnostic> findings(std::string_view text) {
  Diagnostics into;
  EXPECT_FALSE(read(text, "p.yaml", into)) << text.substr(0, 80);
  return into.take();
}

std::string nested(int depth) {
  std::string text = "a: ";
  for (int i = 1; i < depth; ++i) text += "[";
  for (int i = 1; i < depth; ++i) text += "]";
  return text;
}

std::string padded_to(std::size_t size) {
  std::string text = "a: 1\n#";
  text.resize(size, 'x');
  return text;
}

class Statement01Yaml : public testing::TestWithParam<Refused> {};

// Exactly the subset, each refusal with a place and a code.
TEST_P(Statement01Yaml, IsRefusedAtItsPlace) {
  const auto& trap = GetParam();
  const auto found = findings(trap.text);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().code, trap.code) << found.front().format();
  EXPECT_EQ(found.front().at, trap.at) << found.front().format();
  EXPECT_EQ(found.front().file, "p.yaml");
  EXPECT_EQ(found.front().severity, Severity::error);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Statement01Yaml,
    testing::Values(
        Refused{"repeated_key", "a: 1\ndeny: [x]\nb: 2\ndeny: [y]\n", "Y0116", {4, 1}},
        Refused{"repeated_key_in_flow", "r: { deny: x, deny: y }\n", "Y0116", {1, 15}},
        Refused{"null_list", "r:\n  deny:\n  why: x\n", "Y0117", {2, 3}},
        Refused{"null_item", "a: [x, ~]\n", "Y0117", {1, 8}},
        Refused{"null_word", "a: null\n", "Y0117", {1, 1}},
        Refused{"flow_map_without_values", "a: {x, y}\n", "Y0117", {1, 5}},
        Refused{"second_document", "a: 1\n---\nb: 2\n", "Y0109", {2, 1}},
        Refused{"second_document_after_end", "a: 1\n...\nb: 2\n", "Y0109", {3, 1}},
        Refused{"empty_second_document", "a: 1\n---\n", "Y0109", {2, 1}},
        Refused{"anchor", "a: &x [1]\n", "Y0110", {1, 4}},
        Refused{"anchor_on_map", "a: &x\n  b: 1\n", "Y0110", {1, 4}},
        Refused{"alias", "a: &x [1]\nb: *x\n", "Y0110", {1, 4}},
        Refused{"alias_alone", "b: *x\n", "Y0111", {1, 4}},
        Refused{"merge_key", "a:\n  <<: {b: 1}\n", "Y0113", {2, 3}},
        Refused{"tag", "a: !foo bar\n", "Y0112", {1, 4}},
        Refused{"core_tag", "a: !!str bar\n", "Y0112", {1, 4}},
        Refused{"python_tag", "a: !!python/object:os.system {}\n", "Y0112", {1, 4}},
        Refused{"lone_tag", "a: ! bar\n", "Y0112", {1, 4}},
        Refused{"verbatim_tag", "a: !<tag:x> bar\n", "Y0112", {1, 4}},
        Refused{"complex_key", "? [a, b]\n: 1\n", "Y0114", {1, 3}},
        Refused{"explicit_key", "? a\n: 1\n", "Y0114", {1, 3}},
        Refused{"map_as_key", "{a: 1}: 2\n", "Y0114", {1, 1}}, Refused{"no_key", ": 1\n", "Y0114", {1, 1}},
        Refused{"quoted_key", "\"a\": 1\n", "Y0115", {1, 1}},
        Refused{"key_of_two_words", "a b: 1\n", "Y0115", {1, 1}},
        Refused{"key_not_ascii", "x: 1\n\xC3\xA4: 1\n", "Y0115", {2, 1}},
        Refused{"no", "a: no\n", "Y0118", {1, 4}}, Refused{"off", "a: { b: off }\n", "Y0118", {1, 9}},
        Refused{"n", "a: [n]\n", "Y0118", {1, 5}}, Refused{"yes", "a: Yes\n", "Y0118", {1, 4}},
        Refused{"on", "a: ON\n", "Y0118", {1, 4}}, Refused{"capital_true", "a: True\n", "Y0118", {1, 4}},
        Refused{"octal", "a: 010\n", "Y0119", {1, 4}}, Refused{"new_octal", "a: 0o10\n", "Y0119", {1, 4}},
        Refused{"hex", "a: 0x1F\n", "Y0119", {1, 4}}, Refused{"binary", "a: 0b11\n", "Y0119", {1, 4}},
        Refused{"grouped", "a: 1_000\n", "Y0119", {1, 4}}, Refused{"plus", "a: +5\n", "Y0119", {1, 4}},
        Refused{"float", "a: 1.5\n", "Y0119", {1, 4}}, Refused{"exponent", "a: 1e3\n", "Y0119", {1, 4}},
        Refused{"infinity", "a: -.inf\n", "Y0119", {1, 4}},
        Refused{"base_sixty", "a: 12:30\n", "Y0119", {1, 4}},
        Refused{"a_dash_alone", "a: { b: -, c: d }\n", "Y0123", {1, 9}},
        Refused{"byte_order_mark",
                "\xEF\xBB\xBF"
                "a: 1\n",
                "Y0102",
                {1, 1}},
        Refused{"utf16_with_mark",
                std::string("\xFF\xFE"
                            "a\0:\0",
                            6),
                "Y0103",
                {1, 1}},
        Refused{"utf16_big_endian", std::string("\xFE\xFF\0a", 4), "Y0103", {1, 1}},
        Refused{"utf16_without_mark", std::string("a\0:\0 \0", 6), "Y0103", {1, 1}},
        Refused{"invalid_utf8", "a: 1\nb: x\xFFy\n", "Y0104", {2, 5}},
        Refused{"overlong_utf8", "a: \xC0\xAF\n", "Y0104", {1, 4}},
        Refused{"surrogate_utf8", "a: \xED\xA0\x80\n", "Y0104", {1, 4}},
        Refused{"depth_17", nested(17), "Y0120", {1, 19}},
        Refused{"a_byte_too_many", padded_to(kMaxBytes + 1), "Y0101", {2, static_cast<int>(kMaxBytes) - 4}},
        Refused{"nul", std::string("a: x\0y\n", 7), "Y0105", {1, 5}},
        Refused{"end_of_transmission", "a: x\x04\nb: 2\n", "Y0105", {1, 5}},
        Refused{"escape_character", "a: x\x1B[0m\n", "Y0105", {1, 5}},
        Refused{"next_line", "a: x\xC2\x85y\n", "Y0105", {1, 5}},
        Refused{"lone_carriage_return", "a: 1\rb: 2\n", "Y0105", {1, 5}},
        Refused{"direction_override", "a: x\xE2\x80\xAEy\n", "Y0105", {1, 5}},
        Refused{"invisible", "a: x\xE2\x80\x8By\n", "Y0105", {1, 5}},
        Refused{"line_separator", "a: x\xE2\x80\xA8y\n", "Y0105", {1, 5}},
        Refused{"escaped_nul", "a: \"x\\0y\"\n", "Y0122", {1, 4}},
        Refused{"escaped_override", "a: \"\\u202e\"\n", "Y0122", {1, 4}},
        Refused{"tab_indent", "a:\n\tb: 1\n", "Y0106", {2, 1}},
        Refused{"directive", "# x\n%YAML 1.1\n---\na: 1\n", "Y0107", {2, 1}},
        Refused{"empty", "", "Y0108", {1, 1}}, Refused{"only_comments", "# nothing\n", "Y0108", {1, 1}},
        Refused{"unclosed", "a: [1, 2\n", "Y0100", {2, 1}},
        Refused{"value_in_value", "a: b: c\n", "Y0100", {1, 5}},
        Refused{"after_umlauts", "\xC3\xA4\xC3\xB6: no\n", "Y0115", {1, 1}},
        Refused{
            "column_in_characters", "a: [\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\", no]\n", "Y0118", {1, 12}}),
    [](const auto& trap) { return trap.param.name; });

TEST(Yaml, RefusesAliasesAndNamesEveryOne) {
  const auto found = findings("a: &x [1]\nb: *x\nc: [*x, *x]\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[1].code, "Y0111");
  EXPECT_EQ(found[3].at, (Position{3, 9}));
}

TEST(Yaml, ReportsAllErrorsOfAFileInOneRun) {
  const auto found = findings("a: no\nb: 010\nc: !x z\nd:\na: 1\n");
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].code, "Y0118");
  EXPECT_EQ(found[1].code, "Y0119");
  EXPECT_EQ(found[2].code, "Y0112");
  EXPECT_EQ(found[3].code, "Y0117");
  EXPECT_EQ(found[4].code, "Y0116");
}

TEST(Yaml, RefusesABombWithoutBuildingIt) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [*" + before;
    for (int i = 0; i < 8; ++i) bomb += ", *" + before;
    bomb += "]\n";
  }
  EXPECT_FALSE(findings(bomb).empty());
}

TEST(Yaml, RefusesMoreValuesThanTheLimit) {
  std::string text = "a: [";
  for (std::size_t i = 0; i < kMaxNodes; ++i) text += "x,";
  text += "x]\n";
  const auto found = findings(text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "Y0121");
}

TEST(Yaml, SurvivesNestingFarBeyondTheLimit) {
  for (const auto& deep : {std::string(200'000, '['), std::string(200'000, '{'), [] {
                             std::string text;
                             for (int i = 0; i < 50'000; ++i) text += "- ";
                             return text;
                           }()}) {
    EXPECT_FALSE(findings(deep).empty());
  }
}

TEST(Yaml, ReadsWhatTheSubsetHas) {
  Diagnostics into;
  const auto root = read(
      "# a comment\n"
      "name: plain text with blanks\n"
      "quoted: 'no'\n"
      "block: |\n"
      "  two\n"
      "  lines\n"
      "number: -5\n"
      "on: true\n"
      "list: [a, \"b, c\", 200MiB, 300/1m, 2026-11-20]\n"
      "map:\r\n"
      "  settings.web: false\n"
      "  empty: []\n",
      "p.yaml", into);
  ASSERT_TRUE(root) << into.take().front().format();
  ASSERT_EQ(root->kind, Node::Kind::map);
  EXPECT_EQ(root->find("name")->value.text, "plain text with blanks");
  EXPECT_FALSE(root->find("name")->value.quoted);
  EXPECT_EQ(root->find("quoted")->value.text, "no");
  EXPECT_TRUE(root->find("quoted")->value.quoted);
  EXPECT_EQ(root->find("block")->value.text, "two\nlines\n");
  EXPECT_EQ(root->find("number")->value.text, "-5");
  ASSERT_EQ(root->find("list")->value.items.size(), 5U);
  EXPECT_EQ(root->find("list")->value.items[1].text, "b, c");
  EXPECT_EQ(root->find("list")->value.items[1].at, (Position{9, 11}));
  EXPECT_EQ(root->find("map")->value.find("settings.web")->at, (Position{11, 3}));
  EXPECT_EQ(root->find("absent"), nullptr);
}

TEST(Yaml, AcceptsExactlyTheLimits) {
  Diagnostics into;
  EXPECT_TRUE(read(nested(16), "p.yaml", into));
  EXPECT_TRUE(read(padded_to(kMaxBytes), "p.yaml", into));
  EXPECT_FALSE(into.has_errors());
}

TEST(Yaml, WrittenTextReadsAsTheSameTree) {
  const std::string text =
      "a: 1\nb: [x, [z, 'no', []], {c: {}, d: \"q\\\"\\\\\\n\\t\"}]\nm:\n  n: |\n    lines\n\n    more\n  o: "
      "folded\n    text\n";
  Diagnostics into;
  const auto first = read(text, "a", into);
  ASSERT_TRUE(first);
  const auto written = write(*first);
  const auto second = read(written, "b", into);
  ASSERT_TRUE(second) << written << into.take().front().format();
  EXPECT_EQ(write(*second), written);
}

}  // namespace
}  // namespace policy::yaml
