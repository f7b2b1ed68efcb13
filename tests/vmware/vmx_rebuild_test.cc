#include "vmware/vmx_rebuild.h"

#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/vmware/house.h"
#include "vmware/host_files.h"
#include "vmware/vmx_rules.h"

namespace vmware {
namespace {

constexpr std::string_view kPlain = R"(.encoding = "UTF-8"
config.version = "8"
virtualHW.version = "19"
guestOS = "debian12-64"
memsize = "1024"
numvcpus = "2"
scsi0.present = "TRUE"
scsi0.virtualDev = "lsilogic"
scsi0:0.present = "TRUE"
scsi0:0.fileName = "disk.qcow2"
qemu.kernel = "vmlinuz"
qemu.append = "root=/dev/vda rw quiet"
)";

const policy::SandboxId kId = *policy::SandboxId::parse("sbx-0123456789abcdef0123456789abcdef");

Vmx parse(std::string_view more) {
  auto parsed = Vmx::parse(std::string(kPlain) + std::string(more));
  if (!parsed) throw std::runtime_error(parsed.error().where + ": " + parsed.error().message);
  return std::move(*parsed);
}

policy::Result<Vmx> rebuild(std::string_view more, policy::Network network = policy::Network::none) {
  return rebuild_vmx(parse(more), kId, policy::Create{network});
}

TEST(VmxRebuild, KeepsTheMachineAndAddsTheFixedBlock) {
  const auto made = rebuild("");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->get("memsize"), "1024");
  EXPECT_EQ(made->get("scsi0:0.fileName"), "disk.qcow2");
  EXPECT_EQ(made->get("qemu.append"), "root=/dev/vda rw quiet");
  EXPECT_EQ(made->get("displayName"), kId.text());
  EXPECT_EQ(made->get("ethernet0.present"), "FALSE");
  for (const auto& fixed : vmx_fixed()) EXPECT_EQ(made->get(fixed.key), fixed.value) << fixed.key;
}

TEST(VmxRebuild, TheFixedBlockHasEachKeyOnceAndNoneThatBreaksFileCopies) {
  std::set<std::string> seen;
  for (const auto& fixed : vmx_fixed()) EXPECT_TRUE(seen.emplace(fixed.key).second) << fixed.key;
  EXPECT_FALSE(seen.contains("isolation.tools.hgfsServerSet.disable"));
  EXPECT_FALSE(seen.contains("guest.command.enabled"));
}

TEST(VmxRebuild, LeavesOutEveryWayToTheHost) {
  const auto made = rebuild(R"(serial0.present = "TRUE"
serial0.fileType = "file"
serial0.fileName = "/etc/cron.d/x"
serial1.present = "TRUE"
parallel0.fileName = "/dev/lp0"
floppy0.present = "TRUE"
floppy0.fileName = "/etc/shadow"
SHAREDFOLDER0.hostPath = "/"
sharedFolder0.present = "TRUE"
isolation.tools.hgfs.disable = "FALSE"
usb.present = "TRUE"
usb.autoConnect.device0 = "0x1234"
sound.fileName = "/dev/snd"
pciPassthru0.present = "TRUE"
RemoteDisplay.vnc.enabled = "TRUE"
RemoteDisplay.vnc.port = "5900"
debugStub.listen.guest64.remote = "TRUE"
vmx.log.filename = "/home/x/.bashrc"
log.fileName = "/home/x/.profile"
workingDir = "/tmp"
tempDirectory = "/tmp"
mainMem.file = "/dev/mem"
checkpoint.vmState = "old.vmss"
guestinfo.secret = "hunter2"
answer.msg.x = "Yes"
nvram = "/etc/passwd"
extendedConfigFile = "../../x"
vhv.enable = "TRUE"
annotation = "text"
vprobe.enable = "TRUE"
ethernet0.present = "TRUE"
ethernet0.connectionType = "bridged"
ethernet1.present = "TRUE"
sata0:1.present = "TRUE"
sata0:1.deviceType = "cdrom-raw"
sata0:1.fileName = "/dev/sr0"
scsi0:1.present = "TRUE"
scsi0:1.deviceType = "rawDisk"
scsi0:1.fileName = "phys.vmdk"
qemu.cloneOf.snapshot = "1"
uuid.bios = "56 4d"
)");
  ASSERT_TRUE(made) << made.error().message;
  std::set<std::string> allowed{"displayName", "nvram", "extendedConfigFile", "ethernet0.present"};
  for (const auto& fixed : vmx_fixed()) allowed.emplace(fixed.key);
  const auto plain = parse("");
  for (const auto& entry : plain.entries()) allowed.insert(entry.key);
  for (const auto& entry : made->entries()) {
    EXPECT_TRUE(allowed.contains(entry.key)) << entry.key << " = " << entry.value;
  }
  EXPECT_EQ(made->get("nvram"), kId.text() + ".nvram");
  EXPECT_EQ(made->get("isolation.tools.hgfs.disable"), "TRUE");
  EXPECT_EQ(made->get("floppy0.present"), "FALSE");
  EXPECT_EQ(made->write().find("hunter2"), std::string::npos);
}

TEST(VmxRebuild, RefusesAnAllowedKeyWithAValueOutsideItsKind) {
  const std::string_view lines[] = {
      "scsi0:1.present = \"TRUE\"\nscsi0:1.fileName = \"/etc/shadow.vmdk\"\n",
      "scsi0:1.present = \"TRUE\"\nscsi0:1.fileName = \"../base/x.vmdk\"\n",
      "scsi0:1.present = \"TRUE\"\nscsi0:1.fileName = \"dev.img\"\n",
      "sata0:1.present = \"TRUE\"\nsata0:1.fileName = \"a|22b.vmdk\"\n",
      "qemu.initrd = \"../initrd\"\n",
      "qemu.initrd = \"/boot/initrd\"\n",
      "qemu.initrd = \".hidden\"\n",
      "qemu.accel = \"kvm,prop=x\"\n",
      "firmware = \"/x\"\n",
      "scsi1.virtualDev = \"lsilogic,drive=x\"\n",
      "svga.vramSize = \"99999999999999999999\"\n",
      "bios.bootOrder = \"hdd;x\"\n",
      "powerType.powerOff = \"script\"\n",
      "cpuid.coresPerSocket = \"-1\"\n",
      "hpet0.present = \"maybe\"\n",
  };
  for (const auto line : lines) {
    const auto made = rebuild(line);
    ASSERT_FALSE(made) << line;
    EXPECT_EQ(made.error().code, "vmx.value") << line;
  }
}

TEST(VmxRebuild, RefusesEncryptedMachinesAndThoseWithoutADisk) {
  EXPECT_EQ(rebuild("encryption.keySafe = \"x\"\n").error().code, "vmx.encrypted");
  EXPECT_EQ(rebuild("VTPM.present = \"TRUE\"\n").error().code, "vmx.encrypted");
  const auto bare = Vmx::parse("config.version = \"8\"\n");
  EXPECT_EQ(rebuild_vmx(*bare, kId, policy::Create{}).error().code, "vmx.disk");
}

TEST(VmxRebuild, GivesOnlyNatAnAdapter) {
  const auto made = rebuild("ethernet0.virtualDev = \"vmxnet3\"\n", policy::Network::nat);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->get("ethernet0.present"), "TRUE");
  EXPECT_EQ(made->get("ethernet0.connectionType"), "nat");
  EXPECT_EQ(made->get("ethernet0.virtualDev"), "vmxnet3");
  EXPECT_EQ(rebuild("ethernet0.virtualDev = \"x,y\"\n", policy::Network::nat)->get("ethernet0.virtualDev"),
            "e1000e");
  EXPECT_EQ(rebuild("", policy::Network::web)->get("ethernet0.present"), "FALSE");
}

TEST(VmxRebuild, IsTheSameWhenDoneTwice) {
  const auto once = rebuild("");
  ASSERT_TRUE(once);
  const auto twice = rebuild_vmx(*once, kId, policy::Create{});
  ASSERT_TRUE(twice);
  EXPECT_EQ(*once, *twice);
}

TEST(VmxRewrite, ReplacesTheFileAndRefusesADamagedOne) {
  const house::TempFolder folder;
  const auto path = folder.write("x.vmx", std::string(kPlain) + "serial0.present = \"TRUE\"\n");
  ASSERT_TRUE(rewrite_vmx(path, kId, policy::Create{}));
  const auto read = Vmx::parse(house::slurp(path));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->get("serial0.present"), "FALSE");

  const auto twice = folder.write("y.vmx", std::string(kPlain) + "MEMSIZE = \"2048\"\n");
  EXPECT_EQ(rewrite_vmx(twice, kId, policy::Create{}).error().code, "vmx.duplicate");
  std::filesystem::create_symlink(path, folder.path("link.vmx"));
  EXPECT_EQ(rewrite_vmx(folder.path("link.vmx"), kId, policy::Create{}).error().code, "file.kind");
}

TEST(PlainFileName, HoldsNoPath) {
  for (const auto good : {"a", "disk-1.vmdk", "my disk.vmdk", "a_b.c"})
    EXPECT_TRUE(plain_file_name(good)) << good;
  for (const auto bad :
       {"", ".", "..", ".x", "a/b", "a\\b", "-x", " x", "x ", "x.", "a\nb", "a:b", "a|b", "a,b", "json:{}"}) {
    EXPECT_FALSE(plain_file_name(bad)) << bad;
  }
}

TEST(VmxRebuild, GivesWhatWasAskedAndElseWhatTheBaseHas) {
  const auto base = parse("");
  const auto plain = rebuild_vmx(base, kId, policy::Create{});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->get("memsize"), "1024");
  EXPECT_EQ(plain->get("numvcpus"), "2");
  EXPECT_FALSE(plain->get("qemu.disk.gib"));
  policy::Create asked;
  asked.cpus = 4;
  asked.memory_mb = 3000;
  const auto made = rebuild_vmx(base, kId, asked);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->get("memsize"), "3000");
  EXPECT_EQ(made->get("numvcpus"), "4");
}

TEST(VmxRebuild, OnlyOneQcow2DiskCanGrow) {
  policy::Create asked;
  asked.disk_gb = 20;
  const auto with = [&](std::string_view disks) {
    const auto base = Vmx::parse(disks);
    return rebuild_vmx(*base, kId, asked);
  };
  constexpr std::string_view kFirst = "scsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"a.qcow2\"\n";
  ASSERT_TRUE(with(kFirst));
  EXPECT_EQ(with(kFirst)->get("qemu.disk.gib"), "20");
  EXPECT_EQ(with("scsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"a.vmdk\"\n").error().code,
            "vmx.disk_size");
  EXPECT_EQ(
      with(std::string(kFirst) + "scsi0:1.present = \"TRUE\"\nscsi0:1.fileName = \"b.qcow2\"\n").error().code,
      "vmx.disk_size");
}

TEST(VmxRebuild, ABaseCannotBringASizeAlong) {
  EXPECT_FALSE(rebuild("qemu.disk.gib = \"2000\"\n")->get("qemu.disk.gib"));
}

}  // namespace
}  // namespace vmware
