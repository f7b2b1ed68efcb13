#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/vmware/house.h"
#include "tests/vmware/standin_calls.h"
#include "vmware/standin/lock_file.h"
#include "vmware/standin/machine_entry.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

// A process that has a disk open, as an emulator has, and answers nobody.
class Emulator final {
 public:
  explicit Emulator(const std::string& disk) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      const auto file = open_file(disk);
      const std::string record = record_of_this_process();
      (void)!write(ends[1], record.data(), record.size());
      for (;;) pause();
    }
    char text[64];
    const ssize_t got = read(ends[0], text, sizeof text);
    record_.assign(text, got > 0 ? static_cast<std::size_t>(got) : 0);
    close(ends[0]);
    close(ends[1]);
  }
  ~Emulator() { end(); }
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;
  const std::string& record() const { return record_; }
  bool has_ended() const { return !process_of_record(record_); }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  std::string record_;
};

class StandinRunning : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder.path("m"));
    folder.write("m/m.vmx",
                 "config.version = \"8\"\nscsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"m.qcow2\"\n");
    folder.write("m/m.qcow2", "disk");
    use("rt");
  }
  void TearDown() override { unsetenv("SALLYPORT_VMRUN_DIR"); }

  void use(const std::string& root) const {
    fs::create_directory(folder.path(root));
    fs::permissions(folder.path(root), fs::perms::owner_all);
    setenv("SALLYPORT_VMRUN_DIR", folder.path(root).c_str(), 1);
  }
  // As `start` leaves it.
  RuntimeEntry run(const Emulator& emulator) const {
    const auto machine = Machine::open(vmx);
    auto entry = *entry_of(*machine);
    EXPECT_TRUE(make_private_folder(entry.folder()));
    folder.write("pid", emulator.record());
    fs::rename(folder.path("pid"), entry.file("pid"));
    EXPECT_TRUE(write_file_atomically(entry.file("vmx"), vmx + "\n"));
    EXPECT_TRUE(LockFile::take(*machine, entry));
    EXPECT_TRUE(LockFile::record(*machine, entry));
    return entry;
  }
  std::string code_of(const Words& words) const {
    const auto answer = vmrun(words);
    return answer ? "" : answer.error().code;
  }
  void expect_on() const {
    EXPECT_EQ(code_of({"deleteVM", vmx}), "vm.running");
    EXPECT_EQ(code_of({"start", vmx, "nogui"}), "vm.running");
    EXPECT_EQ(code_of({"snapshot", vmx, "s"}), "vm.communication");
    EXPECT_EQ(code_of({"clone", vmx, folder.path("c/c.vmx"), "full"}), "vm.running");
    EXPECT_TRUE(fs::exists(folder.path("m/m.qcow2")));
  }

  house::TempFolder folder;
  std::string vmx = folder.path("m/m.vmx");
};

TEST_F(StandinRunning, AMachineWhoseEmulatorIsSilentIsListed) {
  Emulator emulator(folder.path("m/m.qcow2"));
  run(emulator);
  EXPECT_EQ(vmrun({"list"})->text, "Total running VMs: 1\n" + vmx + "\n");
  emulator.end();
  EXPECT_EQ(vmrun({"list"})->text, "Total running VMs: 0\n");
}

TEST_F(StandinRunning, AMachineIsOnUnderAnotherRuntimeFolder) {
  Emulator emulator(folder.path("m/m.qcow2"));
  const RuntimeEntry entry = run(emulator);
  use("other");
  expect_on();
  EXPECT_EQ(entry_of(*Machine::open(vmx))->folder(), entry.folder());
  EXPECT_TRUE(vmrun({"stop", vmx, "hard"}));
  EXPECT_TRUE(emulator.has_ended());
  EXPECT_FALSE(fs::exists(vmx + ".lck"));
  EXPECT_TRUE(vmrun({"deleteVM", vmx}));
}

TEST_F(StandinRunning, AMachineIsOnWhenItsRuntimeFolderIsGone) {
  Emulator emulator(folder.path("m/m.qcow2"));
  run(emulator);
  fs::remove_all(folder.path("rt"));
  expect_on();
  EXPECT_EQ(code_of({"suspend", vmx}), "vm.communication");
  EXPECT_EQ(code_of({"stop", vmx, "soft"}), "vm.communication");
  EXPECT_TRUE(vmrun({"stop", vmx, "hard"}));
  EXPECT_TRUE(emulator.has_ended());
  EXPECT_TRUE(vmrun({"deleteVM", vmx}));
}

TEST_F(StandinRunning, AMachineWhoseVmxWasReplacedIsOnAndListed) {
  Emulator emulator(folder.path("m/m.qcow2"));
  run(emulator);
  folder.write("m/new", house::slurp(vmx));
  fs::rename(folder.path("m/new"), vmx);
  expect_on();
  EXPECT_EQ(vmrun({"list"})->text, "Total running VMs: 1\n" + vmx + "\n");
}

TEST_F(StandinRunning, ALockOfAProcessThatIsGoneHoldsNothing) {
  {
    Emulator emulator(folder.path("m/m.qcow2"));
    run(emulator);
  }
  use("other");
  ASSERT_TRUE(fs::exists(vmx + ".lck"));
  EXPECT_EQ(code_of({"stop", vmx, "hard"}), "vm.off");
  EXPECT_TRUE(vmrun({"deleteVM", vmx}));
}

TEST_F(StandinRunning, ALockThatNamesSomebodyElsesProcessEndsNobody) {
  // The folder was copied with the lock in it, or somebody wrote it.
  folder.write("else", "text");
  Emulator other(folder.path("else"));
  run(other);
  fs::remove_all(folder.path("rt"));
  EXPECT_EQ(code_of({"stop", vmx, "hard"}), "vm.off");
  EXPECT_FALSE(other.has_ended());
}

TEST_F(StandinRunning, AnEntryInAFolderThatOthersCanWriteIsNotBelieved) {
  Emulator emulator(folder.path("m/m.qcow2"));
  const RuntimeEntry entry = run(emulator);
  fs::permissions(folder.path("rt"), fs::perms::all);
  use("other");
  EXPECT_NE(entry_of(*Machine::open(vmx))->folder(), entry.folder());
  // But its process is the machine's.
  EXPECT_EQ(code_of({"deleteVM", vmx}), "vm.running");
}

TEST_F(StandinRunning, ListFailsWhereItCannotLook) {
  fs::permissions(folder.path("rt"), fs::perms::all);
  EXPECT_EQ(code_of({"list"}), "file.denied");
  setenv("SALLYPORT_VMRUN_DIR", ("/tmp/" + std::string(100, 'x')).c_str(), 1);
  EXPECT_EQ(code_of({"list"}), "runtime");
}

TEST_F(StandinRunning, AVariableThatIsNoUtf8IsRefused) {
  Emulator emulator(folder.path("m/m.qcow2"));
  run(emulator);
  EXPECT_EQ(code_of({"writeVariable", vmx, "guestVar", "a\xff", "x"}), "parameter");
  EXPECT_EQ(code_of({"writeVariable", vmx, "guestVar", "a", "x\xc3"}), "parameter");
  EXPECT_EQ(code_of({"writeVariable", vmx, "guestVar", "a", "x\xc3\xa4"}), "");
  EXPECT_EQ(vmrun({"readVariable", vmx, "guestVar", "a"})->text, "x\xc3\xa4\n");
}

}  // namespace
}  // namespace standin
