#include <gtest/gtest.h>

#include <string>

#include "vmware/standin/copy_greeting.h"
#include "vmware/standin/guest_text.h"

namespace standin {
namespace {

TEST(StandinCopyGreeting, IsFoundBehindMegabytesOfAnEarlierCopy) {
  CopyGreeting greeting("copy-1-2");
  const std::string old = std::string(1 << 20, 'x') + "\ncopy-1-1 7\n";
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(greeting.feed(old));
  const auto found = greeting.feed("\n\ncopy-1-2 42\nfirst");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->words, " 42");
  EXPECT_EQ(found->behind, "first");
}

TEST(StandinCopyGreeting, MayComeByteByByte) {
  CopyGreeting greeting("copy-1-2");
  const std::string line = "x\ncop\ncopy-1-2 9";
  for (const char c : line) EXPECT_FALSE(greeting.feed(std::string(1, c)));
  const auto found = greeting.feed("\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->words, " 9");
  EXPECT_EQ(found->behind, "");
}

TEST(StandinCopyGreeting, ATokenWithNoEndOfLineIsNoneAndHoldsNothingUp) {
  CopyGreeting greeting("copy-1-2");
  EXPECT_FALSE(greeting.feed("\ncopy-1-2" + std::string(1000, ' ')));
  const auto found = greeting.feed("\ncopy-1-2\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->words, "");
}

TEST(StandinGuestPath, IsNotEmptyAndNoPartOfItLongerThanFileSystemsTake) {
  const std::string longest(255, 'a');
  for (const std::string& path : {std::string("/tmp/x"), std::string("x"), std::string("/"),
                                  "/" + longest + "/" + longest, std::string("//a//")}) {
    EXPECT_TRUE(check_guest_path(path)) << path;
  }
  std::string deep;
  while (deep.size() < 4096) deep += "/a";
  for (const std::string& path : {std::string(), "/" + longest + "a", "/tmp/" + longest + "a/x", deep}) {
    const auto checked = check_guest_path(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().message, "One of the parameters was invalid");
  }
}

}  // namespace
}  // namespace standin
