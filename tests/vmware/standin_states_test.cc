#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "vmware/standin/layers.h"
#include "vmware/standin/machine.h"
#include "vmware/standin/qcow2.h"
#include "vmware/standin/saved_state.h"
#include "vmware/standin/variables.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

SnapshotTree family() {
  SnapshotTree tree;
  tree.last_uid = 4;
  tree.current = 4;
  tree.snapshots = {{1, 0, "a", "m.qcow2", 1, {}},
                    {2, 1, "b", "m-000001.qcow2", 2, {}, "m-Snapshot2.vmsn"},
                    {3, 2, "c", "m-000002.qcow2", 3, {}},
                    {4, 1, "d", "m-000003.qcow2", 4, {}}};
  return tree;
}

TEST(StandinStates, RecordsOfMemoryDeletionAndChangeReadBackAsWritten) {
  SnapshotTree tree = family();
  tree.snapshots[2].removed = true;
  tree.pending = PendingChange{"m-000004.qcow2", "m-Snapshot2.vmsn"};
  EXPECT_EQ(*SnapshotTree::parse(tree.write("m")), tree);
  tree.pending->saved_state.clear();
  EXPECT_EQ(*SnapshotTree::parse(tree.write("m")), tree);
}

TEST(StandinStates, ADeletedSnapshotIsNotListedAndItsChildrenMoveUp) {
  SnapshotTree tree = family();
  tree.by_uid(2)->removed = true;
  EXPECT_EQ(tree.by_name("b"), nullptr);
  EXPECT_EQ(tree.listing(false), "Total snapshots: 3\na\nc\nd\n");
  EXPECT_EQ(tree.listing(true), "Total snapshots: 3\na\n\tc\n\td\n");
}

TEST(StandinStates, ASubtreeIsASnapshotAndWhatIsBelow) {
  SnapshotTree tree = family();
  EXPECT_EQ(tree.subtree(2), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(tree.subtree(1), (std::vector<std::uint32_t>{1, 2, 4, 3}));
  tree.snapshots[0].parent = 3;  // a circle ends all the same
  EXPECT_EQ(tree.subtree(2).size(), 4U);
}

TEST(StandinStates, ARecordThatNamesAFileElsewhereIsRefused) {
  for (const char* line :
       {"qemu.pending.disk = \"/etc/passwd\"\n", "qemu.pending.disk = \"../x\"\n",
        "qemu.pending.disk = \"d\"\nqemu.pending.vmState = \"a/b\"\n",
        "snapshot.numSnapshots = \"1\"\nsnapshot0.uid = \"1\"\nsnapshot0.displayName = \"x\"\n"
        "snapshot0.disk0.fileName = \"d\"\nsnapshot0.type = \"1\"\nsnapshot0.filename = \"/m\"\n"}) {
    EXPECT_FALSE(SnapshotTree::parse(line)) << line;
  }
}

class OnDisk : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/standin-states.XXXXXX";
    folder_ = mkdtemp(name);
    write("m.vmx", "config.version = \"8\"\nscsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"m.qcow2\"\n");
    write("m.qcow2", "");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  Machine machine() const { return *Machine::open(folder_ + "/m.vmx"); }
  std::string folder_;
};

TEST_F(OnDisk, AChangeCountsBeforeTheVmxSaysSo) {
  Machine changed = machine();
  const FileIdentity before = changed.identity();
  ASSERT_TRUE(changed.commit({"m-000001.qcow2", "m.vmss"}));
  EXPECT_EQ(*machine().top_disk(), "m-000001.qcow2");
  EXPECT_EQ(machine().saved_state(), "m.vmss");
  EXPECT_EQ(machine().identity(), before);
  EXPECT_NE(std::ifstream(folder_ + "/m.vmx").peek(), EOF);

  ASSERT_TRUE(changed.settle());
  EXPECT_FALSE(machine().snapshots().pending);
  EXPECT_EQ(machine().saved_state(), "m.vmss");
  EXPECT_EQ(machine().identity(), changed.identity());
}

TEST_F(OnDisk, ASavedStateCountsUntilItIsForgotten) {
  Machine changed = machine();
  ASSERT_TRUE(changed.commit({"m.qcow2", "m.vmss"}));
  ASSERT_TRUE(changed.settle());
  ASSERT_TRUE(changed.defer_saved_state());
  EXPECT_EQ(machine().saved_state(), "m.vmss");
  std::ifstream file(folder_ + "/m.vmx");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text.find("checkpoint"), std::string::npos);
  ASSERT_TRUE(changed.forget_saved_state());
  EXPECT_EQ(machine().saved_state(), "");
  EXPECT_EQ(machine().identity(), changed.identity());
}

TEST_F(OnDisk, LeftoversGoAndWhatIsNotOursStays) {
  for (const char* name :
       {"m-000007.qcow2", "m-Snapshot3.vmem", "m.vmem", "m.vmss", "m.vmx.vmrun-aB3dE6", "m.qcow2.part",
        "m-00007.qcow2", "mm.qcow2", "m-notes.txt", "m-Snapshotx.vmem", "other.qcow2"}) {
    write(name, "x");
  }
  sweep(machine());
  std::vector<std::string> left = names_in(folder_, 100);
  EXPECT_EQ(left, (std::vector<std::string>{"m-00007.qcow2", "m-Snapshotx.vmem", "m-notes.txt", "m.qcow2",
                                            "m.vmx", "mm.qcow2", "other.qcow2"}));
}

TEST_F(OnDisk, NothingIsSweptBesideAMachineOfALikeName) {
  write("m-000007.qcow2", "x");
  write("m-000007.vmx", "x");
  sweep(machine());
  EXPECT_TRUE(exists(folder_ + "/m-000007.qcow2"));
}

TEST(StandinSavedState, ReadsBackAsWritten) {
  const SavedState state{"m.vmem", "cpus=2 memory=1024 tcg port=a b", "10.0.2.15"};
  EXPECT_EQ(*SavedState::parse(*state.write()), state);
  EXPECT_EQ(SavedState::parse(*SavedState{"m.vmem", "x", ""}.write())->address, "");
  for (const SavedState& damaged : {SavedState{"../m.vmem", "x", ""}, SavedState{"", "x", ""},
                                    SavedState{"m", "", ""}, SavedState{"m", "x", "10.0.2.15 Error:"}}) {
    EXPECT_FALSE(SavedState::parse(*damaged.write()));
  }
  EXPECT_FALSE(SavedState::parse("nothing"));
  EXPECT_FALSE(SavedState::parse("qemu.state.memory = \"m\"\nqemu.state.hardware = \"\xff\"\n"));
  EXPECT_FALSE((SavedState{"m\xff.vmem", "x", ""}.write()));
}

TEST(StandinSavedState, OtherHardwareIsOtherHardware) {
  QemuPlan plan;
  const std::string first = hardware_of(plan);
  plan.memory_mib = 2048;
  EXPECT_NE(hardware_of(plan), first);
  plan.memory_mib = 1024;
  plan.ports.push_back({"p", "/s"});
  EXPECT_NE(hardware_of(plan), first);
  plan.ports[0].socket = "/elsewhere";
  const std::string with_port = hardware_of(plan);
  plan.ports.clear();
  plan.nic = Nic::nat;
  EXPECT_NE(hardware_of(plan), with_port);
}

TEST(StandinQcow2, OnlyAPlainImageStandsAlone) {
  std::string head(kQcow2Head, '\0');
  head.replace(0, 4, "QFI\xfb");
  head[7] = 3;
  head[29] = 1;
  EXPECT_TRUE(qcow2_stands_alone(head));
  std::string crypted = head, external = head, corrupt = head, compressed = head, unknown = head;
  crypted[35] = 1;
  external[79] = 4;
  corrupt[79] = 2;
  compressed[79] = 8 | 1;
  unknown[72] = 1;
  EXPECT_FALSE(qcow2_stands_alone(crypted));
  EXPECT_FALSE(qcow2_stands_alone(external));
  EXPECT_FALSE(qcow2_stands_alone(corrupt));
  EXPECT_TRUE(qcow2_stands_alone(compressed));
  EXPECT_FALSE(qcow2_stands_alone(unknown));
  EXPECT_FALSE(qcow2_stands_alone(head.substr(0, 79)));
}

TEST(StandinVariables, ReadBackAsWritten) {
  Variables variables;
  variables.values = {{"guestVar.a", "x \"y\" \\"}, {"runtimeConfig.b", ""}};
  EXPECT_EQ(*Variables::parse(variables.write()), variables);
  EXPECT_EQ(variables.total(), 32U);
  for (const char* damaged : {"", "[]", "{\"a\": 1}", "{\"a\": \"b\"", "null"}) {
    EXPECT_FALSE(Variables::parse(damaged)) << damaged;
  }
}

}  // namespace
}  // namespace standin
