#include "vmware/sandbox_marker.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/vmware/house.h"
#include "vmware/host_files.h"

namespace vmware {
namespace {

namespace fs = std::filesystem;

SandboxMarker marker() {
  return {policy::SandboxId::random(),
          {"uid:1000"},
          policy::random_hex32(),
          policy::Network::nat,
          SandboxMarker::State::ready,
          1000,
          2000,
          "boot",
          "1.2.3"};
}

class Marked : public testing::Test {
 protected:
  Marked() { EXPECT_TRUE(make_marked_folder(clones, mine)); }
  std::string inside(const std::string& name = {}) const {
    return clones + "/" + mine.id.text() + "/" + name;
  }
  house::TempFolder folder;
  std::string clones = folder.path();
  SandboxMarker mine = marker();
};

TEST(SandboxMarker, ComesBackAsItWasWritten) {
  const auto one = marker();
  const auto read = parse_marker(write_marker(one));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, one);
}

TEST(SandboxMarker, IsRefusedWhenAnythingIsMissingOrAdded) {
  const auto text = write_marker(marker());
  EXPECT_FALSE(parse_marker(""));
  EXPECT_FALSE(parse_marker("[]"));
  EXPECT_FALSE(parse_marker("{}"));
  for (std::size_t cut = 1; cut + 2 < text.size(); ++cut)
    EXPECT_FALSE(parse_marker(text.substr(0, cut))) << cut;
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return parse_marker(changed);
  };
  EXPECT_FALSE(with("\"created\": 1000", "\"created\": \"1000\""));
  EXPECT_FALSE(with("\"created\": 1000", "\"created\": -1"));
  EXPECT_FALSE(with("sbx-", "sbx_"));
  EXPECT_FALSE(with("\"ready\"", "\"reddy\""));
  EXPECT_FALSE(with("\"nat\"", "\"bridged\""));
  EXPECT_FALSE(with("sallyport sandbox", "other sandbox"));
  EXPECT_FALSE(with("{", "{\"more\": 1,"));
}

TEST_F(Marked, PassesTheGuard) {
  const auto found = guard(clones, mine.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, mine);
}

TEST_F(Marked, IsNotMadeTwice) { EXPECT_FALSE(make_marked_folder(clones, mine)); }

TEST_F(Marked, IsRefusedWithoutItsMarker) {
  fs::remove(inside(std::string(kMarkerName)));
  EXPECT_EQ(guard(clones, mine.id).error().code, "marker.missing");
  EXPECT_FALSE(remove_marked_folder(clones, mine.id));
  EXPECT_TRUE(fs::exists(inside()));
}

TEST_F(Marked, IsRefusedWithTheMarkerOfAnother) {
  folder.write(mine.id.text() + "/" + std::string(kMarkerName), write_marker(marker()));
  EXPECT_EQ(guard(clones, mine.id).error().code, "marker.other");
}

TEST_F(Marked, IsRefusedWithAMarkerThatIsALink) {
  const auto elsewhere = folder.write("copy", house::slurp(inside(std::string(kMarkerName))));
  fs::remove(inside(std::string(kMarkerName)));
  fs::create_symlink(elsewhere, inside(std::string(kMarkerName)));
  EXPECT_EQ(guard(clones, mine.id).error().code, "marker.missing");
}

TEST_F(Marked, IsRefusedWhenTheFolderIsALink) {
  fs::rename(inside(), folder.path("real"));
  fs::create_directory_symlink(folder.path("real"), clones + "/" + mine.id.text());
  EXPECT_EQ(guard(clones, mine.id).error().code, "marker.other");
  EXPECT_FALSE(remove_marked_folder(clones, mine.id));
  EXPECT_TRUE(fs::exists(folder.path("real/" + std::string(kMarkerName))));
}

TEST_F(Marked, IsRemovedWithAllThatIsInItAndNothingElse) {
  fs::create_directories(inside("deep/er"));
  folder.write(mine.id.text() + "/deep/er/file", "x");
  fs::create_directories(folder.path("outside"));
  const auto kept = folder.write("outside/kept", "kept");
  fs::create_directory_symlink(folder.path("outside"), inside("link"));
  fs::create_symlink(kept, inside("deep/link"));
  ASSERT_TRUE(remove_marked_folder(clones, mine.id));
  EXPECT_FALSE(fs::exists(inside()));
  EXPECT_EQ(house::slurp(kept), "kept");
}

TEST_F(Marked, MissingIsNotFoundAndLeavesNoError) {
  const auto other = policy::SandboxId::random();
  EXPECT_EQ(guard(clones, other).error().code, "marker.missing");
  EXPECT_TRUE(remove_tree(clones, other.text()));
}

TEST(HostFiles, ANameWithASlashIsNoNameToRemove) {
  const house::TempFolder folder;
  folder.write("x", "x");
  for (const auto name : {"", ".", "..", "../x", "a/b"})
    EXPECT_FALSE(remove_tree(folder.path(), name)) << name;
}

TEST(HostFiles, ReadsOnlyPlainFilesUpToALimit) {
  const house::TempFolder folder;
  const auto path = folder.write("file", "12345");
  EXPECT_EQ(*read_file(path, 5), "12345");
  EXPECT_EQ(read_file(path, 4).error().code, "file.size");
  EXPECT_EQ(read_file(folder.path("none"), 4).error().code, "file.missing");
  EXPECT_EQ(read_file(folder.path(), 4).error().code, "file.kind");
  fs::create_hard_link(path, folder.path("second"));
  EXPECT_EQ(read_file(path, 5).error().code, "file.kind");
  fs::create_symlink(path, folder.path("link"));
  EXPECT_EQ(read_file(folder.path("link"), 5).error().code, "file.kind");
  EXPECT_EQ(read_file("/dev/zero", 5).error().code, "file.kind");
}

TEST(HostFiles, ALockIsHeldByOne) {
  const house::TempFolder folder;
  auto first = try_lock(folder.path("lock"));
  ASSERT_TRUE(first && *first);
  auto second = try_lock(folder.path("lock"));
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, nullptr);
  first->reset();
  second = try_lock_existing(folder.path("lock"));
  EXPECT_TRUE(second && *second);
  EXPECT_FALSE(try_lock_existing(folder.path("none")));
}

}  // namespace
}  // namespace vmware
