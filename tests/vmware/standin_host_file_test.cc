#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/vmware/house.h"
#include "vmware/standin/files.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

class StandinHostFile : public testing::Test {
 protected:
  Result<> put(const std::string& path, const std::string& text) const {
    HostFile file;
    if (auto made = file.create(path); !made) return made;
    if (auto written = file.append(text); !written) return written;
    return file.finish();
  }
  std::size_t names() const { return names_in(folder.path(), 1000).size(); }

  house::TempFolder folder;
};

TEST_F(StandinHostFile, TakesThePlaceOfARegularFileAndOfNothing) {
  const std::string path = folder.path("a");
  ASSERT_TRUE(put(path, "one"));
  ASSERT_TRUE(put(path, "two"));
  EXPECT_EQ(house::slurp(path), "two");
  EXPECT_EQ(names(), 1U);
}

TEST_F(StandinHostFile, ReplacesNothingThatIsNotARegularFile) {
  const std::string target = folder.write("target", "text");
  fs::create_symlink(target, folder.path("link"));
  fs::create_symlink(folder.path("none"), folder.path("dangling"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, folder.path("socket").c_str());
  const Fd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // SAFETY: the sockets interface takes every address family as sockaddr.
  ASSERT_EQ(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::size_t before = names();
  for (const std::string& path : {folder.path("link"), folder.path("dangling"), folder.path("pipe"),
                                  folder.path("socket"), std::string("/dev/null")}) {
    const auto kind = fs::symlink_status(path).type();
    const auto done = put(path, "x");
    ASSERT_FALSE(done) << path;
    EXPECT_EQ(done.error().code, "file.special") << path;
    EXPECT_NE(done.error().message.find("name a regular file"), std::string::npos);
    EXPECT_EQ(fs::symlink_status(path).type(), kind) << path;
  }
  EXPECT_EQ(put(folder.path(), "x").error().code, "file.exists");
  EXPECT_EQ(house::slurp(target), "text");
  EXPECT_EQ(names(), before);
}

TEST_F(StandinHostFile, ALinkPutThereMeanwhileIsNotReplacedEither) {
  const std::string path = folder.path("a");
  HostFile file;
  ASSERT_TRUE(file.create(path));
  fs::create_symlink(folder.path("none"), path);
  EXPECT_EQ(file.finish().error().code, "file.special");
  EXPECT_TRUE(fs::is_symlink(path));
}

TEST_F(StandinHostFile, MayHaveTheLongestNameThereIs) {
  for (const std::size_t length : {242U, 243U, 245U, 255U}) {
    const std::string path = folder.path(std::string(length, 'n'));
    ASSERT_TRUE(put(path, "text")) << length;
    EXPECT_EQ(house::slurp(path), "text");
  }
  EXPECT_EQ(names(), 4U);
  EXPECT_EQ(put(folder.path(std::string(256, 'n')), "text").error().code, "file.name");
}

TEST_F(StandinHostFile, WhatAKilledWriterLeftGoesWithTheNextAndOnesAtWorkStay) {
  for (const std::string& name : {std::string("a"), std::string(250, 'a')}) {
    const std::string path = folder.path(name);
    const std::size_t before = names();
    const pid_t child = fork();
    if (child == 0) {
      HostFile left;
      (void)left.create(path);
      kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(names(), before + 1);
    HostFile other;
    ASSERT_TRUE(other.create(path));
    ASSERT_TRUE(other.append("late"));
    ASSERT_TRUE(put(path, "text"));
    EXPECT_EQ(names(), before + 2);
    EXPECT_EQ(house::slurp(path), "text");
    ASSERT_TRUE(other.finish());
    EXPECT_EQ(house::slurp(path), "late");
    EXPECT_EQ(names(), before + 1);
  }
}

}  // namespace
}  // namespace standin
