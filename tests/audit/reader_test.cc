#include "audit/reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "audit/chain.h"

namespace audit {
namespace {

using policy::Json;

TEST(Reader, AcceptsCanonicalValuesAndGivesThemBack) {
  for (const std::string text :
       {"{}", "[]", "\"\"", "0", "-1", "9007199254740991", "true", "false",
        R"({"a":[1,{"b":"c"}],"b":"\n\u001f\"\\"})", "{\"\xF0\x9F\x98\x80\":2,\"\xEF\xAC\xB3\":1}",
        "\"\x7f\xC2\x80\"", R"({"\n":1,"a":2})"}) {
    const auto value = read_value(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(policy::canonical(*value), text);
  }
}

TEST(Reader, RefusesWhatHasAnotherCanonicalForm) {
  for (const std::string text : {"",
                                 " {}",
                                 "{} ",
                                 "null",
                                 "1.0",
                                 "1e3",
                                 "-0",
                                 "01",
                                 "9007199254740992",
                                 "99999999999999999999",
                                 "+1",
                                 "tru",
                                 "nul",
                                 "[1,]",
                                 "[,1]",
                                 "{\"a\":1,}",
                                 "{\"a\"}",
                                 "{a:1}",
                                 "{\"a\": 1}",
                                 "{\"b\":1,\"a\":2}",
                                 "{\"a\":1,\"a\":2}",
                                 "{\"\\n\":1,\"\\n\":2}",
                                 "{\"\xEF\xAC\xB3\":1,\"\xF0\x9F\x98\x80\":2}",
                                 "\"\\/\"",
                                 "\"\\u000a\"",
                                 "\"\\u001F\"",
                                 "\"\\u0041\"",
                                 "\"\\ud800\"",
                                 "\"\n\"",
                                 "\"\xff\"",
                                 "\"\xC0\xAF\"",
                                 "\"\xED\xA0\x80\"",
                                 "\"",
                                 "\"\\",
                                 "\"\\u0",
                                 "[",
                                 "{",
                                 "{\"a\":",
                                 "[NaN]",
                                 "\xEF\xBB\xBF{}"}) {
    EXPECT_FALSE(read_value(text)) << text;
  }
  EXPECT_FALSE(read_value(std::string(100'000, '[')));
}

std::string sealed(const std::string& middle) {
  std::string line = std::string(kPrevStart) + std::string(64, '0') + "\"," + middle;
  Hasher hasher;
  const auto hash = hasher.hex_closed(line);
  return line + std::string(kHashStart) + hash + "\"}";
}

const std::string kGood =
    R"("act":"a.b","id":"019d6c5e-b2a0-7007-8bce-000000000000","log":"0a1b2c3d","lvl":"info","mono":1,"ph":"evt","seq":0,"ts":"2026-11-29T15:26:24.123456789Z","v":1)";

TEST(Reader, RefusesARecordWithAMemberMissingOrOfTheWrongKind) {
  EXPECT_TRUE(read_fields(sealed(kGood)));
  const struct {
    std::string from, to;
  } table[] = {
      {R"("act":"a.b",)", ""},
      {R"("a.b")", "1"},
      {R"("seq":0)", R"("seq":-1)"},
      {R"("seq":0,)", ""},
      {R"("evt")", R"("req")"},
      {R"("evt")", R"("xxx")"},
      {R"("info")", R"("loud")"},
      {R"("v":1)", R"("v":2)"},
      {"-7007-", "-4007-"},
      {"T15:26", " 15:26"},
      {R"("mono":1)", R"("mono":1.5)"},
      {R"("mono":1)", R"("mono":"1")"},
      {R"("evt")", R"("res")"},
      {R"("seq":0)", R"("seq":0,"seq":0)"},
  };
  for (const auto& row : table) {
    auto text = kGood;
    const auto at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, row.from.size(), row.to);
    EXPECT_FALSE(read_fields(sealed(text))) << text;
  }
  EXPECT_TRUE(read_fields(sealed(R"("aaa":1,)" + kGood))) << "later versions may add members";
  EXPECT_FALSE(read_fields(sealed(kGood) + " "));
  EXPECT_FALSE(read_fields(""));
}

TEST(Reader, ReadsEveryLineOfTheSampleLog) {
  std::ifstream in(std::string(SALLYPORT_SOURCE_DIR) + "/tests/data/audit/sample/audit-3f9c2a10-0.jsonl");
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) {
    ++lines;
    ASSERT_TRUE(read_fields(line)) << line;
    EXPECT_EQ(policy::canonical(*read_value(line)), line);
  }
  EXPECT_EQ(lines, 11);
}

}  // namespace
}  // namespace audit
