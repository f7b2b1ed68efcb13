// What guests and files say, as a terminal may get it.
#include "gateway/cli/printable.h"

#include <gtest/gtest.h>

namespace gateway::cli {
namespace {

TEST(Printable, EscapesWhatCommandsATerminalAndNothingElse) {
  struct Row {
    const char* text;
    const char* shown;
  };
  const Row table[] = {
      {"plain, \xC3\xA4 and \xF0\x9F\x98\x80", "plain, \xC3\xA4 and \xF0\x9F\x98\x80"},
      {"\x1B[31m", "\\x1b[31m"},
      {"\r\x7F", "\\x0d\\x7f"},
      {"\xC2\x9B"
       "31m",
       "\\u009b31m"},
      {"\xE2\x80\xAE"
       "txt.exe",
       "\\u202etxt.exe"},
      {"\xE2\x81\xA6", "\\u2066"},
      {"broken \xFF byte", "broken \\xff byte"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(printable(row.text), row.shown);
    EXPECT_EQ(printable_line(row.text), row.shown);
  }
  EXPECT_EQ(printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(printable_line("a\n\tb"), "a\\x0a\\x09b");
}

}  // namespace
}  // namespace gateway::cli
