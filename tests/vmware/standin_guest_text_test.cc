#include <gtest/gtest.h>

#include <string>

#include "vmware/standin/guest_text.h"
#include "vmware/standin/keystrokes.h"

namespace standin {
namespace {

using namespace std::string_literals;

TEST(StandinGuestText, ProcessesAreListedAsVmwareListsThem) {
  EXPECT_EQ(
      process_listing("1\0root\0/sbin/init splash\0"
                      "42\0agent\0[kworker]\0"s),
      "Process list: 2\npid=1, owner=root, cmd=/sbin/init splash\npid=42, owner=agent, cmd=[kworker]\n");
  EXPECT_EQ(process_listing(""), "Process list: 0\n");
}

TEST(StandinGuestText, AProcessCannotAddALine) {
  EXPECT_EQ(process_listing("7\0agent\0x\npid=1, owner=root, cmd=y\x1b[2J\0"s),
            "Process list: 1\npid=7, owner=agent, cmd=x?pid=1, owner=root, cmd=y?[2J\n");
  EXPECT_EQ(process_listing("7 8\0agent\0x\0"
                            "\0agent\0x\0"
                            "9\0\0x\0"
                            "12345678901\0agent\0x\0"s),
            "Process list: 0\n");
  EXPECT_EQ(process_listing("7\0agent\0half"s), "Process list: 0\n");
}

TEST(StandinGuestText, AListIsCutWhereVmwareCutsIt) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += "7\0agent\0"s + std::string(4000, 'x') + "\0"s;
  const std::string listing = process_listing(bytes);
  EXPECT_LE(listing.size(), kMaxListing + 32);
  EXPECT_TRUE(listing.starts_with("Process list: 16\n")) << listing.substr(0, 40);
  EXPECT_TRUE(listing.ends_with("x\n"));
}

TEST(StandinGuestText, NamesAreSortedAndHarmless) {
  EXPECT_EQ(directory_listing("b\0a\nError: x\0.c\0"s), "Directory list: 3\n.c\na?Error: x\nb\n");
  EXPECT_EQ(directory_listing(""), "Directory list: 0\n");
}

TEST(StandinGuestText, APathIsAPathOrNothing) {
  EXPECT_EQ(printed_path("/tmp/vmware-x\n"), "/tmp/vmware-x");
  for (const char* text : {"", "\n", "tmp/x\n", "/tmp/x\nError: y\n", "/tmp/\x1bx"})
    EXPECT_EQ(printed_path(text), "");
  EXPECT_EQ(printed_path("/" + std::string(5000, 'x')), "");
}

TEST(StandinKeystrokes, TextBecomesTheKeysOfAUsKeyboard) {
  using Keys = std::vector<std::vector<std::string>>;
  EXPECT_EQ(*keys_for("aZ 1!\n\t~"), (Keys{{"a"},
                                           {"shift", "z"},
                                           {"spc"},
                                           {"1"},
                                           {"shift", "1"},
                                           {"ret"},
                                           {"tab"},
                                           {"shift", "grave_accent"}}));
  EXPECT_FALSE(keys_for("\xc3\xa4"));
  EXPECT_FALSE(keys_for("a\x1b"));
  for (char c = ' '; c < 0x7f; ++c) EXPECT_TRUE(keys_for(std::string(1, c))) << c;
}

}  // namespace
}  // namespace standin
