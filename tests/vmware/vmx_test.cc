#include "vmware/vmx.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace vmware {
namespace {

using namespace std::string_view_literals;

std::string strict_value(std::string_view bytes, std::string_view key) {
  const auto vmx = Vmx::parse(bytes);
  return vmx ? vmx->get_or(key, "(absent)") : "(" + vmx.error().code + ")";
}

TEST(Vmx, ReadsTheGrammarOfVmwaresDictionaryReader) {
  const struct {
    std::string_view line;
    std::string_view value;
  } table[] = {
      {"x = \"1\"", "1"},
      {"x=1", "1"},
      {" \tx \t=\t 1 \t", "1"},
      {"x =", ""},
      {"x = # nothing", ""},
      {"x = \"\"", ""},
      {"x = \"a # b\" # c", "a # b"},
      {"x = a#b", "a"},
      {"x = a\"b", "a\"b"},
      {"x==b", "=b"},
      {"X = \"upper\"", "upper"},
      {"x = \"a\\\"", "a\\"},
      {"x = \"a|22b\"", "a\"b"},
      {"x = \"a|7cb\"", "a|b"},
      {"x = \"||22\"", "||22"},
      {"x = \"|2|22\"", "|2|22"},
      {"x = \"|zz\"", "|zz"},
      {"x = \"|\"", "|"},
      {"x = \"|2\"", "|2"},
      {"x = \"|C3|A9\"", "\xc3\xa9"},
      {"\xef\xbb\xbfx = 1", "1"},
      {"# c\n\n  # d\nx = 1", "1"},
      {"y = 2\r\nx = 1\r\n", "1"},
      {"y = 2\rx = 1\r", "1"},
      {"x = \"tab\there\"", "tab\there"},
      {".encoding = \"windows-1252\"\nx = \"\x80\xe9\"", "\xe2\x82\xac\xc3\xa9"},
      {"x = \"\xe9\"\n.encoding = \"Windows-1252\"", "\xc3\xa9"},
      {".encoding = utf-8\nx = \xc3\xa9", "\xc3\xa9"},
  };
  for (const auto& row : table) EXPECT_EQ(strict_value(row.line, "x"), row.value) << row.line;
}

TEST(Vmx, RefusesWhatIsDamagedOrAmbiguous) {
  const struct {
    std::string bytes;
    std::string_view code;
    std::string_view where;
  } table[] = {
      {"a = b c", "vmx.line", ".vmx:1:1"},
      {"a = \"b\"c", "vmx.line", ".vmx:1:1"},
      {"y = 1\na = \"b", "vmx.line", ".vmx:2:1"},
      {"a", "vmx.line", ".vmx:1:1"},
      {"= 1", "vmx.line", ".vmx:1:1"},
      {"a b = 1", "vmx.line", ".vmx:1:1"},
      {"a\x0b= 1", "vmx.name", ".vmx:1:1"},
      {"a = 1\nb = 2\nA = 3", "vmx.duplicate", ".vmx:3:1"},
      {".encoding = \"UTF-8\"\n.Encoding = \"UTF-8\"", "vmx.duplicate", ".vmx:2:1"},
      {"a\"b = 1", "vmx.name", ".vmx:1:1"},
      {"a\xc3\xa9 = 1", "vmx.name", ".vmx:1:1"},
      {std::string("a = \"1\"\0 b", 11), "vmx.nul", ".vmx:1:1"},
      {"a = \"|00\"", "vmx.control", ".vmx:1:1"},
      {"a = \"|0A\"", "vmx.control", ".vmx:1:1"},
      {"a = \"\x7f\"", "vmx.control", ".vmx:1:1"},
      {"a = \"\x1b[2J\"", "vmx.control", ".vmx:1:1"},
      {".encoding = \"GBK\"", "vmx.encoding", ".vmx:1:1"},
      {"a = \"\xff\"", "vmx.encoding", ".vmx:1:1"},
      {"a = \"|C3\"", "vmx.encoding", ".vmx:1:1"},
      {"a = \"\xed\xa0\x80\"", "vmx.encoding", ".vmx:1:1"},
      {"a = \"\xc0\xaf\"", "vmx.encoding", ".vmx:1:1"},
      {".encoding = \"windows-1252\"\na = \"\x81\"", "vmx.encoding", ".vmx:2:1"},
      {".encoding = \"US-ASCII\"\na = \"\xe9\"", "vmx.encoding", ".vmx:2:1"},
      {std::string(257, 'k') + " = 1", "vmx.name", ".vmx:1:1"},
      {"a = " + std::string(8193, 'v'), "vmx.value", ".vmx:1:1"},
      {std::string(5001, '\n'), "vmx.lines", ".vmx:5001:1"},
      {std::string((1 << 20) + 1, '\n'), "vmx.size", ""},
  };
  for (const auto& row : table) {
    const auto vmx = Vmx::parse(row.bytes);
    ASSERT_FALSE(vmx) << row.bytes.substr(0, 60);
    EXPECT_EQ(vmx.error().code, row.code) << row.bytes.substr(0, 60);
    EXPECT_EQ(vmx.error().where, row.where) << row.bytes.substr(0, 60);
  }
}

TEST(Vmx, AcceptsEachLimitExactly) {
  EXPECT_TRUE(Vmx::parse(std::string(256, 'k') + " = 1"));
  EXPECT_TRUE(Vmx::parse("a = " + std::string(8192, 'v')));
  EXPECT_TRUE(Vmx::parse(std::string(5000, '\n')));
}

TEST(Vmx, LenientReadingTakesWhatStrictRefuses) {
  const auto vmx = Vmx::parse_lenient(
      "a = b c\nx = \"1\"\0 junk\nA b\nX = 2\nodd\"name = 3\nz = \"|00tail\"\nw = \"\xff\""sv);
  ASSERT_TRUE(vmx);
  EXPECT_FALSE(vmx->get("a"));
  EXPECT_EQ(vmx->get("x"), "2");
  EXPECT_EQ(vmx->get("odd\"name"), "3");
  EXPECT_EQ(vmx->get("z"), "");
  EXPECT_EQ(vmx->get("w"), "\xff");
  EXPECT_EQ(Vmx::parse_lenient(std::string((1 << 20) + 1, 'a')).error().code, "vmx.size");
}

TEST(Vmx, WritesSortedQuotedAndEscapedWithTheEncodingFirst) {
  Vmx vmx;
  ASSERT_TRUE(vmx.set("scsi0.present", "TRUE"));
  ASSERT_TRUE(vmx.set("displayName", "a \"b\" | c\t\xc3\xa9"));
  ASSERT_TRUE(vmx.set("Ethernet0.present", "FALSE"));
  EXPECT_EQ(vmx.write(),
            ".encoding = \"UTF-8\"\n"
            "displayName = \"a |22b|22 |7C c\t\xc3\xa9\"\n"
            "Ethernet0.present = \"FALSE\"\n"
            "scsi0.present = \"TRUE\"\n");
}

TEST(Vmx, SetRefusesWhatParseWouldRefuse) {
  Vmx vmx;
  EXPECT_EQ(vmx.set("a b", "1").error().code, "vmx.name");
  EXPECT_EQ(vmx.set("", "1").error().code, "vmx.name");
  EXPECT_EQ(vmx.set("a", "1\n b = 2").error().code, "vmx.control");
  EXPECT_EQ(vmx.set("a", "\xff").error().code, "vmx.encoding");
  EXPECT_EQ(vmx.set(".ENCODING", "GBK").error().code, "vmx.encoding");
  EXPECT_TRUE(vmx.entries().empty());
}

TEST(Vmx, FindsReplacesAndErasesWithoutRegardToCase) {
  Vmx vmx;
  ASSERT_TRUE(vmx.set("memsize", "512"));
  ASSERT_TRUE(vmx.set("MemSize", "1024"));
  EXPECT_EQ(vmx.entries().size(), 1U);
  EXPECT_EQ(vmx.get("MEMSIZE"), "1024");
  EXPECT_TRUE(vmx.erase("memSIZE"));
  EXPECT_FALSE(vmx.erase("memsize"));
  EXPECT_EQ(vmx.get_or("memsize", "256"), "256");
  ASSERT_TRUE(vmx.set("on", "true"));
  EXPECT_TRUE(vmx.is_true("ON"));
  EXPECT_FALSE(vmx.is_true("off"));
}

TEST(Vmx, WhatWasWrittenReadsBackEqual) {
  Vmx vmx;
  ASSERT_TRUE(vmx.set("a", "||22 |zz \" # \\ "));
  ASSERT_TRUE(vmx.set("b:1-2_3.c", ""));
  const auto again = Vmx::parse(vmx.write());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, vmx);
}

}  // namespace
}  // namespace vmware
