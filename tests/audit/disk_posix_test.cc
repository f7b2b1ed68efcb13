#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/disk.h"
#include "audit/log.h"
#include "audit/reader.h"
#include "audit/show.h"
#include "audit/verify.h"
#include "tests/audit/requests.h"

namespace audit {
namespace {

class DiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "sallyport-audit-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "log";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_, folder_;
  policy::SystemClock clock_;
};

unsigned mode_of(const std::filesystem::path& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0 ? st.st_mode & 07777U : 0;
}

TEST_F(DiskTest, MakesAFolderAndFilesThatOnlyTheOwnerCanRead) {
  const auto old = ::umask(0);
  {
    auto log = Log::open(folder_, clock_);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE((*log)->note({"session.open"}));
  }
  ::umask(old);
  EXPECT_EQ(mode_of(folder_), 0700U);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3) << "lock, key, segment";
  EXPECT_EQ(exit_code(verify(folder_).verdict), 0);
}

TEST_F(DiskTest, HasOneOwnerAtATime) {
  auto first = Log::open(folder_, clock_);
  ASSERT_TRUE(first);
  EXPECT_EQ(Log::open(folder_, clock_).error().code, "audit.owned");
  ASSERT_TRUE((*first)->note({"session.open"}));
  EXPECT_TRUE(verify(folder_).live);
  first->reset();
  EXPECT_FALSE(verify(folder_).live);
  EXPECT_TRUE(Log::open(folder_, clock_));
}

TEST_F(DiskTest, RefusesAFolderThatOthersCanWriteOrThatIsALink) {
  std::filesystem::create_directory(folder_);
  for (const unsigned mode : {0770U, 0702U, 0777U}) {
    ::chmod(folder_.c_str(), static_cast<mode_t>(mode));
    EXPECT_EQ(Log::open(folder_, clock_).error().code, "audit.folder") << mode;
  }
  ::chmod(folder_.c_str(), 0700);
  std::filesystem::create_directory_symlink(folder_, root_ / "link");
  EXPECT_EQ(Log::open(root_ / "link", clock_).error().code, "audit.folder");
  EXPECT_EQ(Log::open(root_ / "no" / "parent", clock_).error().code, "audit.folder");
}

TEST_F(DiskTest, WritesThroughNoLinkAndNoSecondName) {
  const auto segment = folder_ / "audit-0a1b2c3d-0.jsonl";
  std::filesystem::create_directory(folder_);
  ::chmod(folder_.c_str(), 0700);
  const auto target = root_ / "target";
  ::close(::open(target.c_str(), O_CREAT | O_WRONLY, 0600));
  std::filesystem::create_symlink(target, segment);
  EXPECT_FALSE((*Log::open(folder_, clock_))->note({"session.open"}));
  std::filesystem::remove(segment);
  std::filesystem::create_hard_link(target, segment);
  EXPECT_FALSE((*Log::open(folder_, clock_))->note({"session.open"}));
  EXPECT_EQ(std::filesystem::file_size(target), 0U);
}

TEST_F(DiskTest, ReadsALogThatIsBeingWritten) {
  auto log = Log::open(folder_, clock_);
  ASSERT_TRUE(log);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE((*log)->note({"session.open"}));
    const auto report = verify(folder_);
    ASSERT_EQ(exit_code(report.verdict), 0) << to_text(report);
    ASSERT_EQ(report.records, static_cast<std::uint64_t>(i) + 2);
  }
}

// Writes until it is killed; each durable record is acknowledged on the pipe once its completion ran.
[[noreturn]] void write_until_killed(const std::string& folder, int acknowledge) {
  policy::SystemClock clock;
  LogOptions options;
  options.segment_bytes = 40'000;
  auto log = Log::open(folder, clock, options);
  if (!log) ::_exit(9);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto request =
        requests::run("echo " + std::string(static_cast<std::size_t>(i) % 300, 'x'), i % 1000);
    auto stands = requests::append(**log, requests::decision(request), policy::Durability::durable);
    if (!stands) ::_exit(8);
    const auto line = std::to_string(stands->seq) + " " + stands->hash + "\n";
    if (::write(acknowledge, line.data(), line.size()) < 0) ::_exit(7);
    if (i % 3 != 0) (void)(*log)->close(*stands, request, {true, "ok"});
  }
  ::_exit(6);
}

TEST_F(DiskTest, KilledAtAnyTimeItVerifiesAndNothingAcknowledgedIsMissing) {
  std::mt19937 random(7);
  std::vector<Anchor> acknowledged;
  for (int round = 0; round < 30; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      write_until_killed(folder_, ends[1]);
    }
    ::close(ends[1]);
    // Kill it some time after a random number of acknowledgements.
    std::string text;
    const std::size_t wanted = random() % 12 * 70;
    char bytes[4096];
    for (int waits = 0; text.size() < wanted && waits < 1000; ++waits) {
      pollfd ready{ends[0], POLLIN, 0};
      if (::poll(&ready, 1, 1000) <= 0) break;
      const auto n = ::read(ends[0], bytes, sizeof bytes);
      if (n <= 0) break;
      text.append(bytes, static_cast<std::size_t>(n));
    }
    ::usleep(static_cast<useconds_t>(random() % 3000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    for (ssize_t n = 0; (n = ::read(ends[0], bytes, sizeof bytes)) > 0;)
      text.append(bytes, static_cast<std::size_t>(n));
    ::close(ends[0]);
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      const auto blank = text.find(' ', at);
      if (end == std::string::npos) break;
      acknowledged.push_back(
          {std::stoull(text.substr(at, blank - at)), text.substr(blank + 1, end - blank - 1)});
      at = end + 1;
    }
    const auto report = verify(folder_, {acknowledged});
    const int code = exit_code(report.verdict);
    ASSERT_TRUE(code == 0 || code == 4 || (code == 3 && acknowledged.empty())) << to_text(report);
  }
  {
    auto log = Log::open(folder_, clock_);
    ASSERT_TRUE(log);
    ASSERT_TRUE((*log)->note({"session.open"}));
  }
  const auto report = verify(folder_, {acknowledged});
  const int code = exit_code(report.verdict);
  EXPECT_TRUE(code == 0 || code == 4) << to_text(report);
  EXPECT_EQ(report.unfinished, 0U);
  EXPECT_GT(acknowledged.size(), 50U);
}

}  // namespace
}  // namespace audit
