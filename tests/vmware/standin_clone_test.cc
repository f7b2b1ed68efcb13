#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/vmware/house.h"
#include "tests/vmware/standin_calls.h"
#include "vmware/standin/clone_records.h"
#include "vmware/standin/launch.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

class StandinClone : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder.path("rt"));
    fs::permissions(folder.path("rt"), fs::perms::owner_all);
    setenv("SALLYPORT_VMRUN_DIR", folder.path("rt").c_str(), 1);
    vmx = parent("p");
  }
  void TearDown() override { unsetenv("SALLYPORT_VMRUN_DIR"); }

  std::string parent(const std::string& name) const {
    fs::create_directory(folder.path(name));
    const std::string path =
        folder.write(name + "/m.vmx",
                     "config.version = \"8\"\nscsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"m.qcow2\"\n");
    const auto made = run_program(
        {"/usr/bin/qemu-img", "create", "-q", "-f", "qcow2", folder.path(name + "/m.qcow2"), "1M"},
        after(Millis{20000}), 1 << 16);
    EXPECT_TRUE(made && vmrun({"snapshot", path, "s"}));
    return path;
  }
  Words clone(const std::string& from, const std::string& to) const {
    return {"clone", from, to, "linked", "-snapshot=s"};
  }

  house::TempFolder folder;
  std::string vmx;
};

TEST_F(StandinClone, OfSeveralToOneDestinationExactlyOneIsMade) {
  constexpr int kParents = 4;
  const std::string to = folder.path("c/c.vmx");
  for (int i = 0; i < kParents; ++i) (void)parent("p" + std::to_string(i));
  for (int round = 0; round < 5; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < kParents; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      const auto done = vmrun(clone(folder.path("p" + std::to_string(i) + "/m.vmx"), to));
      _exit(done ? 0 : done.error().message == "The file already exists" ? 1 : 2);
    }
    int made = 0, refused = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      made += WEXITSTATUS(status) == 0 ? 1 : 0;
      refused += WEXITSTATUS(status) == 1 ? 1 : 0;
    }
    EXPECT_EQ(made, 1);
    EXPECT_EQ(refused, kParents - 1);
    const auto machine = Machine::open(to);
    ASSERT_TRUE(machine);
    EXPECT_TRUE(machine->disk_layers());
    int recorded = 0;
    for (int i = 0; i < kParents; ++i) {
      const auto of = Machine::open(folder.path("p" + std::to_string(i) + "/m.vmx"));
      if (of->snapshots().snapshots[0].clones.empty()) continue;
      ++recorded;
      EXPECT_EQ(machine->snapshots().origin->vmx, of->path());
    }
    EXPECT_EQ(recorded, 1);
    EXPECT_TRUE(vmrun({"deleteVM", to}));
    EXPECT_FALSE(fs::exists(folder.path("c")));
  }
}

TEST_F(StandinClone, AFailureLeavesNothing) {
  const std::string to = folder.path("c/c.vmx");
  const std::vector<Words> table{
      clone(vmx, folder.path("c/.h.vmx")),
      clone(vmx, folder.path("c/.vmx")),
      clone(vmx, folder.path("c/c.txt")),
      clone(vmx, folder.path("c/" + std::string(251, 'n') + ".vmx")),
      clone(vmx, folder.path(std::string(256, 'n') + "/c.vmx")),
      clone(vmx, folder.path("none/c/c.vmx")),
      {"clone", vmx, to, "linked", "-snapshot=s", "-cloneName=a\xff"},
      {"clone", vmx, to, "linked", "-snapshot=s", "-cloneName=a\nb"},
      {"clone", vmx, to, "full", "-snapshot=s", "-cloneName=" + std::string(9000, 'n')},
      {"clone", vmx, to, "linked", "-snapshot=none"},
  };
  for (const Words& words : table) {
    EXPECT_FALSE(vmrun(words)) << words[2] << " " << words.back().substr(0, 40);
    EXPECT_FALSE(fs::exists(folder.path("c"))) << words[2] << " " << words.back().substr(0, 40);
    EXPECT_TRUE(Machine::open(vmx)->snapshots().snapshots[0].clones.empty());
  }
  fs::remove(folder.path("p/m.qcow2"));
  for (const char* kind : {"linked", "full"}) {
    EXPECT_FALSE(vmrun({"clone", vmx, to, kind, "-snapshot=s"})) << kind;
    EXPECT_FALSE(fs::exists(folder.path("c"))) << kind;
  }
}

TEST_F(StandinClone, AFolderThatWasThereBeforeStays) {
  fs::create_directory(folder.path("c"));
  EXPECT_FALSE(vmrun(clone(vmx, folder.path("c/.h.vmx"))));
  EXPECT_TRUE(fs::exists(folder.path("c")));
  EXPECT_TRUE(vmrun(clone(vmx, folder.path("c/c.vmx"))));
}

TEST_F(StandinClone, OneThatWasMovedKeepsItsSnapshot) {
  ASSERT_TRUE(vmrun(clone(vmx, folder.path("c/c.vmx"))));
  fs::rename(folder.path("c"), folder.path("moved"));
  // Another clone does not make it forgotten.
  ASSERT_TRUE(vmrun(clone(vmx, folder.path("d/d.vmx"))));
  ASSERT_TRUE(vmrun({"deleteVM", folder.path("d/d.vmx")}));
  const auto refused = vmrun({"deleteSnapshot", vmx, "s"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(folder.path("c/c.vmx")), std::string::npos);
  EXPECT_FALSE(vmrun({"deleteVM", vmx}));
  EXPECT_TRUE(Machine::open(folder.path("moved/c.vmx"))->disk_layers());
  fs::rename(folder.path("moved"), folder.path("c"));
  EXPECT_TRUE(vmrun({"deleteVM", folder.path("c/c.vmx")}));
  EXPECT_TRUE(vmrun({"deleteSnapshot", vmx, "s"}));
}

TEST_F(StandinClone, OnlyTheNewestOfThoseThatAreNotWhereTheyWereMadeAreRemembered) {
  Snapshot snapshot;
  snapshot.clones.push_back(vmx);
  for (std::size_t i = 0; i < kMostAbsent + 3; ++i)
    snapshot.clones.push_back(folder.path("gone" + std::to_string(i)));
  drop_oldest_absent(snapshot);
  ASSERT_EQ(snapshot.clones.size(), kMostAbsent + 1);
  EXPECT_EQ(snapshot.clones[0], vmx);
  EXPECT_EQ(snapshot.clones[1], folder.path("gone3"));
}

}  // namespace
}  // namespace standin
