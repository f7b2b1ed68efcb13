// Kills a vmrun before each of its changes to the file system in turn, and looks at what is left: a machine
// that can be opened, whose disk shows what it showed before or what it should show after, and that can be
// deleted without a trace.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/vmware/standin_calls.h"
#include "vmware/standin/disk_images.h"
#include "vmware/standin/launch.h"

namespace standin {
namespace {

namespace fs = std::filesystem;
using Pattern = std::array<int, 3>;  // what the first byte of each of three blocks is

constexpr int kMostSteps = 200;
constexpr long kChanges[] = {SYS_rename, SYS_unlink, SYS_rmdir, SYS_mkdir, SYS_chmod,
                             SYS_clone,  SYS_fork,   SYS_vfork, SYS_clone3};

bool is_change(std::uint64_t number) {
  for (const long change : kChanges) {
    if (static_cast<std::uint64_t>(change) == number) return true;
  }
  return false;
}

enum class End { finished, killed };

// Runs the command in a process that is killed before its `step`th change.
End run_killed(const Words& words, int step) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(vmrun(words) ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int seen = 0;
  int signal = 0;
  for (;;) {
    ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return End::finished;
    signal = 0;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
      continue;
    }
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !is_change(info.entry.nr) || ++seen < step) continue;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    // A program it had started goes on; it is ours now.
    while (waitpid(-1, &status, 0) > 0 || errno == EINTR) {
    }
    return End::killed;
  }
}

// A folder with a machine `m` of two snapshots, `one` and `two`, and a block of its own in each layer.
class Crash : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/standin-crash.XXXXXX";
    root_ = mkdtemp(name);
    setenv("SALLYPORT_VMRUN_DIR", (root_ + "/r").c_str(), 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    fs::create_directory(root_ + "/template");
    std::ofstream(root_ + "/template/m.vmx")
        << "config.version = \"8\"\nscsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"m.qcow2\"\n";
    const std::string vmx = root_ + "/template/m.vmx";
    ASSERT_TRUE(
        program({"/usr/bin/qemu-img", "create", "-q", "-f", "qcow2", root_ + "/template/m.qcow2", "1M"}));
    ASSERT_TRUE(write_block("m.qcow2", 0));
    ASSERT_TRUE(vmrun({"snapshot", vmx, "one"}));
    ASSERT_TRUE(write_block("m-000001.qcow2", 1));
    ASSERT_TRUE(vmrun({"snapshot", vmx, "two"}));
    ASSERT_TRUE(write_block("m-000002.qcow2", 2));
  }
  void TearDown() override {
    unsetenv("SALLYPORT_VMRUN_DIR");
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    fs::remove_all(root_);
  }

  static bool program(const Words& words) {
    return run_program(words, after(Millis{20000}), 1 << 16).has_value();
  }
  bool write_block(const std::string& layer, int block) const {
    return program({"/usr/bin/qemu-io", "-f", "qcow2", "-c",
                    "write -q -P " + std::to_string(block + 1) + " " + std::to_string(block * 64) + "k 64k",
                    root_ + "/template/" + layer});
  }
  std::string vmx() const { return root_ + "/v/m.vmx"; }

  // Whether the present disk of the machine shows these blocks.
  bool shows(const std::string& path, Pattern blocks) const {
    const auto machine = Machine::open(path);
    const auto layers =
        machine ? machine->disk_layers() : Result<std::vector<std::string>>(tl::unexpected(machine.error()));
    const std::string flat = root_ + "/flat.qcow2";
    if (!layers || !flatten(*layers, flat)) return false;
    Words words{"/usr/bin/qemu-io", "-r", "-f", "qcow2"};
    for (int i = 0; i < 3; ++i) {
      words.insert(words.end(), {"-c", "read -q -P " + std::to_string(blocks[static_cast<std::size_t>(i)]) +
                                           " " + std::to_string(i * 64) + "k 64k"});
    }
    words.push_back(flat);
    return program(words);
  }

  // `check` after a kill at each step; at the end the machine is deleted and nothing is left of it.
  void kill_at_every_step(const Words& words, const std::function<void()>& check) {
    for (int step = 1; step < kMostSteps; ++step) {
      fs::remove_all(root_ + "/v");
      fs::remove_all(root_ + "/c");
      fs::copy(root_ + "/template", root_ + "/v", fs::copy_options::recursive);
      const End end = run_killed(words, step);
      SCOPED_TRACE(words[0] + ", killed before change " + std::to_string(step));
      check();
      for (const std::string& machine : {root_ + "/c/c.vmx", vmx()}) {
        if (!fs::exists(machine)) continue;
        const auto deleted = vmrun({"deleteVM", machine});
        EXPECT_TRUE(deleted) << deleted.error().message;
      }
      // Killed behind the .vmx, deleting leaves an empty folder.
      std::string left;
      if (fs::exists(root_ + "/v")) {
        for (const auto& entry : fs::directory_iterator(root_ + "/v"))
          left += entry.path().filename().string() + " ";
      }
      EXPECT_EQ(left, "");
      if (HasFailure() || end == End::finished) {
        EXPECT_GT(step, 3) << "hardly anything was tried";
        return;
      }
    }
    ADD_FAILURE() << "the command changes more than it could";
  }

  std::string root_;
};

TEST_F(Crash, ASnapshotIsTakenOrNot) {
  kill_at_every_step({"snapshot", vmx(), "three"}, [&] {
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}));
    const auto again = vmrun({"snapshot", vmx(), "three"});
    EXPECT_TRUE(again || again.error().code == "snapshot.exists") << again.error().message;
    EXPECT_EQ(vmrun({"listSnapshots", vmx()})->text, "Total snapshots: 3\none\ntwo\nthree\n");
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}));
  });
}

TEST_F(Crash, ARevertIsDoneOrNot) {
  kill_at_every_step({"revertToSnapshot", vmx(), "one"}, [&] {
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}) || shows(vmx(), {1, 0, 0}));
    EXPECT_TRUE(vmrun({"revertToSnapshot", vmx(), "two"}));
    EXPECT_TRUE(shows(vmx(), {1, 2, 0}));
  });
}

TEST_F(Crash, ADeletedSnapshotTakesNothingWithIt) {
  kill_at_every_step({"deleteSnapshot", vmx(), "one"}, [&] {
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}));
    const auto again = vmrun({"deleteSnapshot", vmx(), "one"});
    EXPECT_TRUE(again || again.error().code == "snapshot.absent") << again.error().message;
    EXPECT_TRUE(vmrun({"revertToSnapshot", vmx(), "two"}));
    EXPECT_TRUE(shows(vmx(), {1, 2, 0}));
  });
}

TEST_F(Crash, DeletingEverySnapshotKeepsThePresent) {
  kill_at_every_step({"deleteSnapshot", vmx(), "one", "andDeleteChildren"}, [&] {
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}));
    (void)vmrun({"deleteSnapshot", vmx(), "two"});
    (void)vmrun({"deleteSnapshot", vmx(), "one"});
    EXPECT_EQ(vmrun({"listSnapshots", vmx()})->text, "Total snapshots: 0\n");
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}));
  });
}

TEST_F(Crash, AHalfMadeCloneCanBeMadeAgain) {
  const Words clone{"clone", vmx(), root_ + "/c/c.vmx", "linked", "-snapshot=one"};
  kill_at_every_step(clone, [&] {
    EXPECT_TRUE(shows(vmx(), {1, 2, 3}));
    const auto again = vmrun(clone);
    EXPECT_TRUE(again || fs::exists(root_ + "/c/c.vmx")) << again.error().message;
    EXPECT_TRUE(shows(root_ + "/c/c.vmx", {1, 0, 0}));
    EXPECT_EQ(vmrun({"deleteSnapshot", vmx(), "one"}).error().code, "snapshot.clones");
  });
}

TEST_F(Crash, AHalfDeletedMachineCanBeDeleted) {
  kill_at_every_step({"deleteVM", vmx()}, [&] {
    if (fs::exists(vmx())) {
      EXPECT_TRUE(vmrun({"listSnapshots", vmx()}));
    }
  });
}

}  // namespace
}  // namespace standin
