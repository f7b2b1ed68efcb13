#include "policy/path.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "policy/path_rules.h"
#include "tests/policy/tables.h"

namespace policy {
namespace {

using namespace std::string_literals;

std::string unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.starts_with("\\\\")) {
      out += '\\';
      text.remove_prefix(2);
    } else if (text.starts_with("\\x")) {
      out += static_cast<char>(std::stoi(std::string(text.substr(2, 2)), nullptr, 16));
      text.remove_prefix(4);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string code_for(const std::string& path_class) {
  for (int i = 0; i <= static_cast<int>(PathFault::confusable); ++i) {
    const auto fault = static_cast<PathFault>(i);
    if (class_of(fault) == path_class) return std::string(code_of(fault));
  }
  return "no code for " + path_class;
}

std::string parse(std::string_view text, NameRules rules) {
  const auto path = HostPath::parse(text, rules);
  return path ? path->text() : path.error().code;
}

TEST(Statement16Paths, JudgesEveryPathOfTheTableAsGiven) {
  std::ifstream table(SALLYPORT_SOURCE_DIR "/tests/data/paths/path-vectors.tsv");
  ASSERT_TRUE(table);
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto field = fields_of(line);
    ASSERT_GE(field.size(), 8U) << line;
    SCOPED_TRACE(line);
    const auto rules = field[1] == "windows" ? NameRules::windows : NameRules::posix;
    const std::string path = unescape(field[5]);
    if (field[4] != "lex") {
      EXPECT_TRUE(HostPath::parse(path, rules)) << "the disk decides here";
      continue;
    }
    ++rows;
    const std::string expected = field[6] == "allow" ? unescape(field[7]) : code_for(field[7]);
    EXPECT_EQ(parse(path, rules), expected);
    if (field[6] == "deny") {
      EXPECT_FALSE(HostPath::parse(path, NameRules::portable)) << "portable denies what either denies";
    }
  }
  EXPECT_EQ(rows, 185);
}

TEST(HostPath, PortableTakesOnlyWhatBothHostsCanHold) {
  const std::map<std::string, std::string> table = {
      {"a.txt", "a.txt"},
      {"./dir//a.txt", "dir/a.txt"},
      {"caf\xc3\xa9/x", "caf\xc3\xa9/x"},
      {"a~b.txt", "a~b.txt"},
      {"page~1.html", "page~1.html"},
      {"notes\xe2\x80\xa6", "notes\xe2\x80\xa6"},
      {"..\\..\\x", "path.separator"},
      {"a\\b", "path.separator"},
      {"C:\\x", "path.drive"},
      {"C:x", "path.drive"},
      {"a:b", "path.drive"},
      {"ab:c", "path.stream"},
      {"dir/C:/x", "path.stream"},
      {"\\x", "path.absolute"},
      {"/x", "path.absolute"},
      {"//host/share", "path.unc"},
      {"\\\\.\\pipe\\x", "path.device"},
      {"CON", "path.reserved"},
      {"dir/aux.tar.gz", "path.reserved"},
      {"a.", "path.trailing"},
      {"a ", "path.trailing"},
      {"a|b", "path.character"},
      {"PROGRA~1/x", "path.short_name"},
      {"\xef\xbc\x8e\xef\xbc\x8e/x", "path.confusable"},
  };
  for (const auto& [path, expected] : table) EXPECT_EQ(parse(path, NameRules::portable), expected) << path;
}

TEST(HostPath, RefusesStagingFoldersUnderEveryRule) {
  for (const auto rules : {NameRules::posix, NameRules::portable, NameRules::windows}) {
    EXPECT_EQ(parse(".sallyport-staging-0123/x", rules), "path.staging");
    EXPECT_EQ(parse("a/.SallyPort-Staging-0", rules), "path.staging");
    EXPECT_EQ(parse(".sallyport", rules), ".sallyport");
  }
}

TEST(HostPath, HoldsAtItsLimitsAndRefusesOneMore) {
  const std::string name255(255, 'x');
  EXPECT_EQ(parse(name255, NameRules::posix), name255);
  EXPECT_EQ(parse(name255 + "x", NameRules::posix), "path.name_too_long");
  const std::string path1024 = std::string(255, 'a') + "/" + std::string(255, 'b') + "/" +
                               std::string(255, 'c') + "/" + std::string(254, 'd') + "/e";
  ASSERT_EQ(path1024.size(), 1024U);
  EXPECT_EQ(parse(path1024, NameRules::posix), path1024);
  EXPECT_EQ(parse(path1024 + "e", NameRules::posix), "path.too_long");
  std::string deep = "d";
  for (int i = 1; i < 64; ++i) deep += "/d";
  EXPECT_EQ(parse(deep, NameRules::posix), deep);
  EXPECT_EQ(parse(deep + "/d", NameRules::posix), "path.too_deep");
  EXPECT_EQ(parse(std::string(1 << 20, '/'), NameRules::posix), "path.too_long");
}

TEST(HostPath, KnowsWhetherOnlyAFolderMayBeThere) {
  for (const auto* text : {"d/", "d/.", ".", "./", "d//"}) {
    EXPECT_TRUE(HostPath::parse(text)->names_folder()) << text;
  }
  for (const auto* text : {"d", "d/f", "./f", "d/./f"}) {
    EXPECT_FALSE(HostPath::parse(text)->names_folder()) << text;
  }
  EXPECT_EQ(*HostPath::parse("d/"), *HostPath::parse("d"));
  EXPECT_TRUE(HostPath::parse(".")->is_root());
}

TEST(HostPath, SaysWhatToDoInstead) {
  EXPECT_NE(HostPath::parse("/etc/passwd").error().message.find("relative to the transfer folder"),
            std::string::npos);
  for (int i = 0; i <= static_cast<int>(PathFault::confusable); ++i) {
    const auto error = error_of(static_cast<PathFault>(i), "the host path");
    EXPECT_NE(error.message.find(';'), std::string::npos) << error.code;
  }
}

TEST(GuestPath, IsAbsoluteAndNormalised) {
  const std::map<std::string, std::string> table = {
      {"/", "/"},
      {"/home/agent/a.txt", "/home/agent/a.txt"},
      {"//home//agent/./", "/home/agent"},
      {"/a b/-rf", "/a b/-rf"},
      {"/a\\b:c", "/a\\b:c"},
      {"", "path.empty"},
      {"a.txt", "path.relative"},
      {"~/a", "path.relative"},
      {"C:\\x", "path.relative"},
      {"/home/../etc", "path.dotdot"},
      {"/..", "path.dotdot"},
      {"/a\0b"s, "path.nul"},
      {"/a\nb", "path.control"},
      {"/a\xff", "path.encoding"},
      {"/x\xe2\x80\xaetxt", "path.format"},
      {"/" + std::string(256, 'x'), "path.name_too_long"},
      {"/" + std::string(4095, '/'), "path.too_long"},
  };
  for (const auto& [text, expected] : table) {
    const auto path = GuestPath::parse(text);
    EXPECT_EQ(path ? path->text() : path.error().code, expected) << text;
  }
}

}  // namespace
}  // namespace policy
