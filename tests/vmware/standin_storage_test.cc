#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "vmware/standin/base64.h"
#include "vmware/standin/credential.h"
#include "vmware/standin/qcow2.h"
#include "vmware/standin/qemu_words.h"
#include "vmware/standin/snapshots.h"

namespace standin {
namespace {

SnapshotTree three() {
  SnapshotTree tree;
  tree.last_uid = 3;
  tree.current = 3;
  tree.snapshots = {{1, 0, "clean", "a.qcow2", 1700000000123456, {"/c/one.vmx", "/c/two.vmx"}},
                    {2, 1, "tools \"quoted\"", "a-000001.qcow2", 5, {}},
                    {3, 1, "other", "a-000002.qcow2", 0xffffffff80000001, {}}};
  tree.origin = CloneOrigin{"/base/base.vmx", 7};
  return tree;
}

TEST(StandinSnapshots, ReadBackAsWritten) {
  const auto again = SnapshotTree::parse(three().write("a"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, three());
  EXPECT_EQ(SnapshotTree::parse("")->snapshots.size(), 0U);
}

TEST(StandinSnapshots, AreListedAsVmwareListsThem) {
  EXPECT_EQ(three().listing(false), "Total snapshots: 3\nclean\ntools \"quoted\"\nother\n");
  EXPECT_EQ(three().listing(true), "Total snapshots: 3\nclean\n\ttools \"quoted\"\n\tother\n");
  EXPECT_EQ(SnapshotTree{}.listing(true), "Total snapshots: 0\n");
}

TEST(StandinSnapshots, DamagedRecordsAreRefused) {
  const std::string head =
      "snapshot.numSnapshots = \"1\"\nsnapshot0.uid = \"1\"\nsnapshot0.displayName = \"x\"\n";
  const std::string good = head + "snapshot0.disk0.fileName = \"d.qcow2\"\n";
  ASSERT_TRUE(SnapshotTree::parse(good));
  for (const std::string& text :
       {std::string(head), head + "snapshot0.disk0.fileName = \"../d.qcow2\"\n",
        head + "snapshot0.disk0.fileName = \"/d.qcow2\"\n", good + "snapshot.current = \"9\"\n",
        good + "cloneOf0 = \"/b.vmx\"\n", good + "cloneOf0 = \"b.vmx\"\nqemu.cloneOf.snapshot = \"1\"\n",
        good + "snapshot.numSnapshots = \"2\"\n", good + "snapshot.numSnapshots = \"1000000\"\n",
        good + "snapshot0.numClones = \"1000000\"\n"}) {
    EXPECT_FALSE(SnapshotTree::parse(text)) << text;
  }
}

TEST(StandinSnapshots, AChainThatGoesInACircleIsNoChain) {
  SnapshotTree tree = three();
  ASSERT_EQ(tree.chain(3)->size(), 2U);
  tree.snapshots[0].parent = 3;
  EXPECT_FALSE(tree.chain(3));
  EXPECT_FALSE(tree.chain(99));
  EXPECT_EQ(tree.listing(true).find("clean"), std::string::npos);
}

TEST(StandinSnapshots, PlainNamesHoldNoFolder) {
  for (const char* name : {"a.qcow2", "with space", "vmlinuz"}) EXPECT_TRUE(is_plain_name(name)) << name;
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "/a", "a\\b", "a\nb"})
    EXPECT_FALSE(is_plain_name(name)) << name;
}

TEST(StandinCredential, AdmitsTheOneUserWithTheOnePassword) {
  const auto made = Credential::make("agent", "secret");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->write().find("secret"), std::string::npos);
  const auto credential = Credential::parse(made->write());
  ASSERT_TRUE(credential);
  EXPECT_TRUE(credential->admits("agent", "secret"));
  EXPECT_FALSE(credential->admits("agent", "secreT"));
  EXPECT_FALSE(credential->admits("agent", ""));
  EXPECT_FALSE(credential->admits("root", "secret"));
  EXPECT_FALSE(credential->admits("", "secret"));
  EXPECT_FALSE(credential->admits(std::string(300, 'a'), "secret"));
  EXPECT_NE(Credential::make("agent", "secret")->write(), made->write());
}

TEST(StandinCredential, DamagedLinesAreRefused) {
  const std::string good = Credential::make("agent", "secret")->write();
  for (const std::string& line :
       {std::string(), std::string("agent"), "-x" + good, good.substr(0, good.size() - 3),
        std::string("agent:md5:1:00:00"), good + "00", "agent:pbkdf2-sha256:0" + good.substr(25)}) {
    EXPECT_FALSE(Credential::parse(line)) << line;
  }
  EXPECT_FALSE(Credential::make("no spaces", "x"));
  EXPECT_FALSE(Credential::make("agent", ""));
}

TEST(StandinBase64, IsExact) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
                                   std::string("\0\xff\x80", 3)}) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  }
  EXPECT_EQ(base64_encode("ab"), "YWI=");
  for (const char* text : {"a", "YW=I", "YWI", "YWI=\n", "====", "Y===", "Y W="})
    EXPECT_FALSE(base64_decode(text)) << text;
}

TEST(StandinQcow2, ReadsTheSizeOfADisk) {
  std::string head(kQcow2Head, '\0');
  head.replace(0, 4, "QFI\xfb");
  head[7] = 3;
  head[27] = 1;
  EXPECT_EQ(qcow2_size(head), std::uint64_t{1} << 32);
  head[7] = 4;
  EXPECT_FALSE(qcow2_size(head));
  EXPECT_FALSE(qcow2_size("QFI\xfb"));
  head[7] = 3;
  head[24] = '\x7f';
  EXPECT_FALSE(qcow2_size(head));
}

std::size_t count(const std::vector<std::string>& words, const std::string& word) {
  return static_cast<std::size_t>(std::count(words.begin(), words.end(), word));
}

QemuDescriptors three_layers() {
  QemuDescriptors descriptors;
  descriptors.layers = {3, 4, 5};
  descriptors.qmp = 6;
  descriptors.qga = 7;
  descriptors.copy = 8;
  return descriptors;
}

TEST(StandinQemuWords, NameEveryLayerWithItsFormatAndWriteOnlyTheTop) {
  QemuPlan plan;
  plan.layers = {"/c/top.qcow2", "/b/a,b.qcow2", "/b/root.qcow2"};
  const auto words = qemu_words(plan, three_layers());
  std::string disks;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-blockdev") disks += words[i + 1] + "\n";
  }
  EXPECT_EQ(count(words, "-blockdev"), 6U);
  EXPECT_EQ(count(words, "-drive"), 0U);
  EXPECT_NE(
      disks.find(
          R"("backing":null,"discard":"unmap","driver":"qcow2","file":"file2","node-name":"disk2","read-only":true)"),
      std::string::npos)
      << disks;
  EXPECT_NE(
      disks.find(
          R"("backing":"disk1","discard":"unmap","driver":"qcow2","file":"file0","node-name":"disk0","read-only":false)"),
      std::string::npos)
      << disks;
  EXPECT_NE(disks.find(R"("filename":"/dev/fdset/1")"), std::string::npos) << disks;
  EXPECT_EQ(count(words, "fd=4,set=1"), 1U);
}

TEST(StandinQemuWords, HoldNoPathOfTheHostsFiles) {
  QemuPlan plan;
  plan.name = "a,b";
  plan.layers = {"/c/top.qcow2", "/b/mid.qcow2", "/b/root.qcow2"};
  plan.kernel = "/b/vmlinuz";
  plan.initrd = "/b/initrd";
  plan.qemu_folder = "/run/q";
  plan.ports = {{"org.example.0", "/run/q/port.sock"}};
  QemuDescriptors descriptors = three_layers();
  descriptors.kernel = 9;
  descriptors.initrd = 10;
  descriptors.ports = {11};
  const auto words = qemu_words(plan, descriptors);
  for (const std::string& word : words) {
    for (const char* folder : {"/b/", "/c/", "/run/"})
      EXPECT_EQ(word.find(folder), std::string::npos) << word;
  }
  EXPECT_EQ(count(words, "/proc/self/fd/9"), 1U);
  EXPECT_EQ(count(words, "socket,id=port0,fd=11,server=on,wait=off"), 1U);
  EXPECT_EQ(count(words, "a,,b"), 1U);
}

TEST(StandinQemuWords, ConfineAndGiveNoNetworkUnlessAsked) {
  QemuPlan plan;
  auto words = qemu_words(plan, three_layers());
  for (const char* word : {"-nodefaults", "-no-user-config", "-nic", "none",
                           "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"}) {
    EXPECT_GE(count(words, word), 1U) << word;
  }
  EXPECT_EQ(count(words, "-netdev"), 0U);
  EXPECT_EQ(count(words, "socket,id=qmp,fd=6,server=on,wait=off"), 1U);
  plan.nic = Nic::nat;
  words = qemu_words(plan, three_layers());
  EXPECT_EQ(count(words, "-nic"), 0U);
  EXPECT_EQ(count(words, "-netdev"), 1U);
}

}  // namespace
}  // namespace standin
