#include "vmware/base/base_machine.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/fakes/disk_images.h"
#include "tests/vmware/house.h"
#include "vmware/base/qcow2_header.h"
#include "vmware/base/qcow2_tables.h"
#include "vmware/base/snapshot_records.h"
#include "vmware/base/vmdk_descriptor.h"

namespace vmware {
namespace {

namespace fs = std::filesystem;

std::string code_of(const policy::Result<>& result) { return result ? "ok" : result.error().code; }

TEST(Qcow2Header, TellsOfSizeAndTheLayerBelow) {
  for (const std::uint32_t version : {2U, 3U}) {
    fakes::Qcow2 image;
    image.version = version;
    image.backing = "/base/base.qcow2";
    const auto read = parse_qcow2(image.bytes());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, (Qcow2Header{1 << 30, "/base/base.qcow2", "qcow2"}));
  }
  EXPECT_EQ(parse_qcow2(fakes::Qcow2().bytes())->backing, "");
}

TEST(Qcow2Header, RefusesWhatReachesElsewhereOrIsNotKnown) {
  const struct {
    const char* name;
    std::function<void(fakes::Qcow2&)> change;
    const char* code;
  } cases[] = {
      {"encrypted", [](auto& i) { i.crypt = 2; }, "disk.encrypted"},
      {"encryption header", [](auto& i) { i.extra_extension = 0x0537BE77; }, "disk.encrypted"},
      {"data file", [](auto& i) { i.features = 4; }, "disk.elsewhere"},
      {"data file by name", [](auto& i) { i.extra_extension = 0x44415441; }, "disk.elsewhere"},
      {"corrupt", [](auto& i) { i.features = 2; }, "disk.format"},
      {"a feature of tomorrow", [](auto& i) { i.features = 1 << 20; }, "disk.feature"},
      {"version 4", [](auto& i) { i.version = 4; }, "disk.format"},
      {"clusters of 4 MiB", [](auto& i) { i.cluster_bits = 22; }, "disk.format"},
      {"an absurd size", [](auto& i) { i.size = ~std::uint64_t{0}; }, "disk.format"},
      {"a NUL in the name", [](auto& i) { i.backing = std::string("a\0b", 3); }, "disk.format"},
      {"an endless name", [](auto& i) { i.backing = std::string(1024, 'a'); }, "disk.format"},
  };
  for (const auto& one : cases) {
    fakes::Qcow2 image;
    one.change(image);
    const auto read = parse_qcow2(image.bytes());
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, one.code) << one.name;
  }
}

// 64 KiB clusters: the head, the counts, the first table, one second table, one cluster of data, one
// compressed.
std::string image_with_tables() {
  fakes::Qcow2 image;
  image.cluster_bits = 16;
  auto bytes = image.bytes();
  bytes.resize(0x50000 + 100);
  const auto put = [&](std::size_t at, std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i)
      bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * (width - 1 - i)) & 255);
  };
  put(36, 2, 4);
  put(40, 0x20000, 8);
  put(48, 0x10000, 8);
  put(0x20000 + 8, std::uint64_t{1} << 63 | 0x30000, 8);
  put(0x30000, std::uint64_t{1} << 63 | 0x40000, 8);
  put(0x30000 + 64, std::uint64_t{1} << 62 | 0x50010, 8);
  return bytes;
}

TEST(Qcow2Tables, AnImageThatWasCutOffIsRefusedWhereverThatWas) {
  const auto whole = image_with_tables();
  const auto check = [&](std::size_t size) {
    const auto file = whole.substr(0, size);
    return code_of(
        check_qcow2_tables(whole.substr(0, kQcow2Head), size,
                           [&](std::uint64_t offset, std::size_t bytes) -> policy::Result<std::string> {
                             EXPECT_LE(offset, file.size());
                             return file.substr(offset, bytes);
                           }));
  };
  EXPECT_EQ(check(whole.size()), "ok");
  // The last cluster may end before its full size.
  EXPECT_EQ(check(0x50011), "ok");
  for (const auto size :
       {0x50010U, 0x40001U, 0x40000U, 0x3ffffU, 0x30000U, 0x20010U, 0x2000fU, 0x10001U, 0x10000U})
    EXPECT_EQ(check(size), "disk.format") << std::hex << size;
}

TEST(Qcow2Header, CutOffAnywhereIsRefusedOrWhole) {
  fakes::Qcow2 image;
  image.backing = "base.qcow2";
  const auto whole = image.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_qcow2(whole.substr(0, size))) << size;
  }
}

constexpr char kSparse[] =
    "# Disk DescriptorFile\nversion=1\nencoding=\"UTF-8\"\nCID=fffffffe\nparentCID=ffffffff\n"
    "createType=\"monolithicSparse\"\n\n# Extent description\nRW 41943040 SPARSE \"base.vmdk\"\n\n"
    "#DDB\nddb.adapterType = \"lsilogic\"\nddb.geometry.sectors = \"63\"\n";

TEST(VmdkDescriptor, IsReadFromTextAndFromASparseExtent) {
  for (const auto& bytes : {std::string(kSparse), fakes::sparse_vmdk(kSparse)}) {
    const auto text = vmdk_descriptor_of(bytes);
    ASSERT_TRUE(text);
    const auto read = parse_vmdk_descriptor(*text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, (VmdkDescriptor{"monolithicSparse", {{"base.vmdk"}}, ""}));
  }
}

TEST(VmdkDescriptor, TellsOfItsParent) {
  const auto read = parse_vmdk_descriptor(
      "CID=1\nparentCID=2\ncreateType=\"twoGbMaxExtentSparse\"\n"
      "parentFileNameHint=\"/vm/base/base.vmdk\"\nRW 2 SPARSE \"a-s001.vmdk\"\nRW 2 ZERO\n"
      "RDONLY 2 FLAT \"a b.vmdk\" 0\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->parent, "/vm/base/base.vmdk");
  EXPECT_EQ(read->extents.size(), 3U);
}

TEST(VmdkDescriptor, RefusesDisksThatAreNotPlainFilesOfTheirFolder) {
  const std::string head = "CID=1\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n";
  const struct {
    std::string text;
    const char* code;
  } cases[] = {
      {"CID=1\ncreateType=\"fullDevice\"\nRW 9 FLAT \"/dev/sda\" 0\n", "disk.elsewhere"},
      {"CID=1\ncreateType=\"fullDevice\"\nRW 9 FLAT \"sda\" 0\n", "disk.raw"},
      {"CID=1\ncreateType=\"partitionedDevice\"\nRW 9 ZERO\n", "disk.raw"},
      {"CID=1\ncreateType=\"vmfsRaw\"\nRW 9 VMFSRDM \"a.vmdk\"\n", "disk.raw"},
      {"CID=1\ncreateType=\"custom\"\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.raw"},
      {"CID=1\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.raw"},
      {head + "RW 9 FLAT \"../a.vmdk\" 0\n", "disk.elsewhere"},
      {head + "RW 9 FLAT \"/etc/passwd\" 0\n", "disk.elsewhere"},
      {head + "RW 9 FLAT \"C:\\a.vmdk\" 0\n", "disk.elsewhere"},
      {head + "RW 9 FLAT \"\" 0\n", "disk.elsewhere"},
      {head + "rw 9 FLAT \"/etc/passwd\" 0\n", "disk.elsewhere"},
      {head + "RW 9 DEVICE \"a.vmdk\" 0\n", "disk.raw"},
      {head, "disk.format"},
      {head + "RW 9 FLAT \"a.vmdk\n", "disk.format"},
      {head + "RW x FLAT \"a.vmdk\" 0\n", "disk.format"},
      {head + "RW 9 FLAT \"a.vmdk\" 0 \"b.vmdk\"\n", "disk.format"},
      {head + "nonsense\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.format"},
      {head + "createType=\"monolithicFlat\"\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.format"},
      {head + "parentFileNameHint=\"a.vmdk\"\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.format"},
      {head + "changeTrackPath=\"/etc/x\"\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.elsewhere"},
      {head + "encryptionKeys=\"x\"\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.encrypted"},
      {"CID=1\nparentCID=2\ncreateType=\"monolithicFlat\"\nRW 9 FLAT \"a.vmdk\" 0\n", "disk.format"},
      {std::string(70'000, '#'), "disk.format"},
  };
  for (const auto& one : cases) {
    const auto read = parse_vmdk_descriptor(one.text);
    ASSERT_FALSE(read) << one.text;
    EXPECT_EQ(read.error().code, one.code) << one.text;
  }
}

TEST(SnapshotRecords, TellOfNamesDisksAndMemory) {
  const auto read =
      read_snapshot_records(fakes::vmsd({"clean", "warm"}, "snapshot1.type = \"1\"\nodd line\n"));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_FALSE(read->at(0).with_memory);
  EXPECT_TRUE(read->at(1).with_memory);
  EXPECT_EQ(read->at(0).disks, std::vector<std::string>{"base.qcow2"});
  for (const char* text : {"snapshot.numSnapshots = \"x\"\n", "snapshot.numSnapshots = \"-1\"\n",
                           "snapshot.numSnapshots = \"9999\"\n", "snapshot.numSnapshots = \"1\"\n"}) {
    EXPECT_FALSE(read_snapshot_records(text)) << text;
  }
}

class BaseMachine : public testing::Test {
 protected:
  BaseMachine() : vmx(fakes::make_base(folder.path("base"))) {}
  std::string check(const std::string& snapshot = "clean") { return code_of(check_base(vmx, snapshot)); }
  void put(const std::string& name, const std::string& bytes) {
    fakes::write_bytes(folder.path("base/" + name), bytes);
  }
  void disk_on(const std::string& backing, const std::string& format = "qcow2") {
    fakes::Qcow2 top;
    top.backing = backing;
    top.backing_format = format;
    put("base-000001.qcow2", top.bytes());
  }
  house::TempFolder folder;
  std::string vmx;
};

TEST_F(BaseMachine, AsItShouldBe) {
  EXPECT_EQ(check(), "ok");
  disk_on(folder.path("base/base.qcow2"));
  EXPECT_EQ(check(), "ok");
}

TEST_F(BaseMachine, IsRefusedBySettingsThatNoSandboxMayHave) {
  const auto good = house::slurp(vmx);
  const struct {
    const char* line;
    const char* code;
  } cases[] = {
      {"encryption.keySafe = \"x\"\n", "vmx.encrypted"},
      {"vtpm.present = \"TRUE\"\n", "vmx.encrypted"},
      {"checkpoint.vmState = \"base.vmss\"\n", "base.suspended"},
      {"scsi0:1.present = \"TRUE\"\nscsi0:1.fileName = \"/dev/sda.vmdk\"\n", "vmx.value"},
      {"CONFIG.version = \"8\"\n", "vmx.duplicate"},
  };
  for (const auto& one : cases) {
    put("base.vmx", good + one.line);
    EXPECT_EQ(check(), one.code) << one.line;
  }
  fs::remove(vmx);
  EXPECT_EQ(check(), "base.missing");
}

TEST_F(BaseMachine, NeedsTheSnapshotOnceAndWithoutMemory) {
  EXPECT_EQ(check("other"), "snapshot.missing");
  put("base.vmsd", fakes::vmsd({"clean", "clean"}));
  EXPECT_EQ(check(), "snapshot.ambiguous");
  put("base.vmsd", fakes::vmsd({"clean"}, "snapshot0.type = \"1\"\n"));
  EXPECT_EQ(check(), "snapshot.memory");
  put("base.vmsd", fakes::vmsd({"clean"}));
  put("base-Snapshot1.vmem", "memory");
  EXPECT_EQ(check(), "snapshot.memory");
  fs::remove(folder.path("base/base-Snapshot1.vmem"));
  put("base.vmsd", "snapshot.numSnapshots = \"x\"\n");
  EXPECT_EQ(check(), "snapshot.records");
  fs::remove(folder.path("base/base.vmsd"));
  EXPECT_EQ(check(), "snapshot.missing");
}

TEST_F(BaseMachine, MayNotHaveALayerOutsideOfItsFolder) {
  fs::create_directories(folder.path("other"));
  fakes::write_bytes(folder.path("other/base.qcow2"), fakes::Qcow2().bytes());
  for (const auto& backing : {folder.path("other/base.qcow2"), std::string("../other/base.qcow2"),
                              std::string("/etc/passwd"), std::string("json:{\"driver\":\"file\"}"),
                              std::string("nbd://127.0.0.1/x.qcow2"), std::string("/base.qcow2")}) {
    disk_on(backing);
    EXPECT_EQ(check(), "disk.elsewhere") << backing;
  }
  disk_on("base.qcow2", "raw");
  EXPECT_EQ(check(), "disk.format");
  disk_on("base.qcow2", "");
  EXPECT_EQ(check(), "disk.format");
  disk_on("missing.qcow2");
  EXPECT_EQ(check(), "file.missing");
  disk_on("base-000001.qcow2");
  EXPECT_EQ(check(), "disk.layers");
  fs::create_symlink("/etc/passwd", folder.path("base/link.qcow2"));
  disk_on("link.qcow2");
  EXPECT_EQ(check(), "file.kind");
}

TEST_F(BaseMachine, OfVmwareIsFollowedThroughItsDescriptors) {
  put("base.vmx",
      "config.version = \"8\"\nscsi0.present = \"TRUE\"\nscsi0:0.present = \"TRUE\"\n"
      "scsi0:0.fileName = \"top.vmdk\"\n");
  const std::string child = "CID=2\nparentCID=1\ncreateType=\"twoGbMaxExtentSparse\"\n";
  put("top.vmdk", child + "parentFileNameHint=\"base.vmdk\"\nRW 9 SPARSE \"top-s001.vmdk\"\n");
  put("top-s001.vmdk", "KDMV");
  put("base.vmdk", fakes::sparse_vmdk(kSparse));
  EXPECT_EQ(check(), "ok");
  fs::remove(folder.path("base/top-s001.vmdk"));
  EXPECT_EQ(check(), "file.missing");
  put("top.vmdk", child + "parentFileNameHint=\"/etc/base.vmdk\"\nRW 9 ZERO\n");
  EXPECT_EQ(check(), "disk.elsewhere");
  put("base.vmdk", "CID=1\ncreateType=\"fullDevice\"\nRW 9 FLAT \"/dev/sda\" 0\n");
  put("top.vmdk", child + "parentFileNameHint=\"base.vmdk\"\nRW 9 ZERO\n");
  EXPECT_EQ(check(), "disk.elsewhere");
}

}  // namespace
}  // namespace vmware
