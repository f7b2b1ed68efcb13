#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/vmware/house.h"
#include "vmware/standin/account.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/posture.h"
#include "vmware/standin/runtime.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

class StandinRuntime : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(root);
    fs::permissions(root, fs::perms::owner_all);
    setenv("SALLYPORT_VMRUN_DIR", root.c_str(), 1);
  }
  void TearDown() override { unsetenv("SALLYPORT_VMRUN_DIR"); }

  void put(const std::string& path, const std::string& text = "") const { std::ofstream(path) << text; }
  // The entry of a machine that is off.
  std::string entry(const std::string& name, const std::string& vmx) const {
    const std::string path = root + "/" + name;
    fs::create_directories(path + "/q");
    put(path + "/vmx", vmx + "\n");
    for (const char* file : {"/alive", "/pid", "/q/qmp.sock"}) put(path + file);
    return path;
  }

  house::TempFolder folder;
  std::string root = folder.path("rt");
};

TEST_F(StandinRuntime, ListRemovesTheEntryOfAMachineThatIsGoneAndNoOther) {
  const std::string vmx = folder.path("one.vmx");
  put(vmx, "config.version = \"8\"\n");
  const std::string off = entry(identity_of(vmx)->text(), vmx);
  const std::string gone = entry("fe00-1", folder.path("gone.vmx"));
  const std::string moving = entry("fe00-2", vmx);
  const std::string running = entry("fe00-5", folder.path("gone.vmx"));
  const auto alive = lock_path(running + "/alive", after(Millis{0}));
  ASSERT_TRUE(alive);
  fs::create_directory(root + "/boot");
  fs::create_directory(root + "/fe00-6");
  const auto listed = running_machines();
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->empty());
  for (const std::string& path : {off, moving, running, root + "/boot", root + "/fe00-6"}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(StandinRuntime, ARecordIsOfOneProcessAndNoLaterOneOfItsId) {
  const std::string own = record_of_this_process();
  EXPECT_EQ(process_of_record(own), getpid());
  for (const std::string& record : {std::string(), std::string("1 1\n"), std::to_string(getpid()) + " 1\n",
                                    std::to_string(getpid()) + "\n", own.substr(0, own.size() - 1),
                                    std::string("4194305 \n"), "x" + own}) {
    EXPECT_FALSE(process_of_record(record)) << record;
  }
}

TEST_F(StandinRuntime, AProcessOfWhichOnlyTheExitCodeIsLeftIsGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string record = record_of_this_process();
    _exit(write(ends[1], record.data(), record.size()) > 0 ? 0 : 1);
  }
  close(ends[1]);
  std::string record(64, '\0');
  const ssize_t got = read(ends[0], record.data(), record.size());
  ASSERT_GT(got, 0);
  record.resize(static_cast<std::size_t>(got));
  char end = 0;
  EXPECT_EQ(read(ends[0], &end, 1), 0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_of_record(record));
  waitpid(child, nullptr, 0);
  close(ends[0]);
}

TEST_F(StandinRuntime, AWriterRemovesWhatAKilledOneLeftAndNothingElse) {
  const std::string path = folder.path("a.vmsd");
  const std::vector<std::string> others{path + ".backup", path + ".vmrun-backups",
                                        folder.path("b.vmsd.vmrun-abcdef"), path + ".vmrun-inwork"};
  for (const std::string& other : others) {
    put(other);
    chmod(other.c_str(), 0600);
  }
  const auto at_work = lock_path(path + ".vmrun-inwork", after(Millis{0}));
  const std::string left = path + ".vmrun-AbC123";
  put(left);
  chmod(left.c_str(), 0600);
  ASSERT_TRUE(write_file_atomically(path, "text"));
  EXPECT_FALSE(fs::exists(left));
  for (const std::string& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  EXPECT_EQ(read_small_file(path, 100).value(), "text");
}

TEST_F(StandinRuntime, ALockOnAFileThatWasRemovedMeanwhileIsTakenAnew) {
  const std::string path = folder.path("lock");
  auto first = lock_path(path, after(Millis{0}));
  ASSERT_TRUE(first);
  ASSERT_TRUE(remove_file(path));
  const auto second = lock_path(path, after(Millis{0}));
  ASSERT_TRUE(second);
  EXPECT_FALSE(lock_path(path, after(Millis{0})));
  first->reset();
  EXPECT_FALSE(lock_path(path, after(Millis{0})));
}

TEST(StandinPosture, SaysOfEachMeansWhetherItIsThereAndWhatToDoIfNot) {
  const std::string text = posture();
  std::istringstream lines(text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    names.push_back(line.substr(0, colon));
    const std::string rest = line.substr(colon + 2);
    EXPECT_TRUE(rest.starts_with("yes; ") || rest.starts_with("no; ")) << line;
    EXPECT_GT(rest.size(), 8U) << line;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"own-uid", "own-network", "landlock", "kvm", "memory-limit"}));
  EXPECT_EQ(text.find("own-uid: yes") != std::string::npos, account_range().has_value());
}

}  // namespace
}  // namespace standin
