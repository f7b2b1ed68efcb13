#include "vmware/vmx_rules.h"

#include <array>

namespace vmware {
namespace {

constexpr std::int64_t kAny = 1'000'000;

constexpr std::array kAllowed{
    // What the machine is.
    VmxRule{"config.version", VmxKind::number, 1, 99},
    VmxRule{"virtualHW.version", VmxKind::number, 3, 99},
    VmxRule{"virtualHW.productCompatibility", VmxKind::word, 0, 0, "hosted"},
    VmxRule{"guestOS", VmxKind::name},
    VmxRule{"firmware", VmxKind::word, 0, 0, "bios|efi"},
    VmxRule{"uefi.secureBoot.enabled", VmxKind::flag},
    VmxRule{"numvcpus", VmxKind::number, 1, 64},
    VmxRule{"cpuid.coresPerSocket", VmxKind::number, 1, 64},
    VmxRule{"memsize", VmxKind::number, 64, 1'048'576},
    VmxRule{"hpet0.present", VmxKind::flag},
    VmxRule{"bios.bootOrder", VmxKind::list},
    VmxRule{"powerType.powerOff", VmxKind::word, 0, 0, "soft|hard|default"},
    VmxRule{"powerType.powerOn", VmxKind::word, 0, 0, "soft|hard|default"},
    VmxRule{"powerType.suspend", VmxKind::word, 0, 0, "soft|hard|default"},
    VmxRule{"powerType.reset", VmxKind::word, 0, 0, "soft|hard|default"},
    // Buses.
    VmxRule{"pciBridge#.present", VmxKind::flag},
    VmxRule{"pciBridge#.virtualDev", VmxKind::word, 0, 0, "pcieRootPort"},
    VmxRule{"pciBridge#.functions", VmxKind::number, 1, 8},
    VmxRule{"pciBridge#.pciSlotNumber", VmxKind::number, -1, kAny},
    VmxRule{"scsi#.present", VmxKind::flag},
    VmxRule{"scsi#.virtualDev", VmxKind::word, 0, 0, "lsilogic|lsisas1068|buslogic|pvscsi"},
    VmxRule{"scsi#.pciSlotNumber", VmxKind::number, -1, kAny},
    VmxRule{"sata#.present", VmxKind::flag},
    VmxRule{"sata#.pciSlotNumber", VmxKind::number, -1, kAny},
    VmxRule{"nvme#.present", VmxKind::flag},
    VmxRule{"nvme#.pciSlotNumber", VmxKind::number, -1, kAny},
    VmxRule{"vmci#.pciSlotNumber", VmxKind::number, -1, kAny},
    // Disks; a device with any other type is left out whole.
    VmxRule{"scsi#:#.present", VmxKind::flag},
    VmxRule{"scsi#:#.fileName", VmxKind::disk},
    VmxRule{"sata#:#.present", VmxKind::flag},
    VmxRule{"sata#:#.fileName", VmxKind::disk},
    VmxRule{"nvme#:#.present", VmxKind::flag},
    VmxRule{"nvme#:#.fileName", VmxKind::disk},
    VmxRule{"ide#:#.present", VmxKind::flag},
    VmxRule{"ide#:#.fileName", VmxKind::disk},
    // Screen and keyboard.
    VmxRule{"svga.vramSize", VmxKind::number, 262'144, 134'217'728},
    VmxRule{"svga.autodetect", VmxKind::flag},
    VmxRule{"keyboard.vusb.enable", VmxKind::flag},
    VmxRule{"mouse.vusb.enable", VmxKind::flag},
    // The stand-in's own group: files in the base's folder by plain name.
    VmxRule{"qemu.accel", VmxKind::word, 0, 0, "auto|kvm|tcg"},
    VmxRule{"qemu.append", VmxKind::kernel_text},
    VmxRule{"qemu.guest.credential", VmxKind::file},
    VmxRule{"qemu.initrd", VmxKind::file},
    VmxRule{"qemu.kernel", VmxKind::file},
};

constexpr std::array kFixed{
    // Clipboard, drag and drop, shared folders.
    VmxFixed{"isolation.tools.copy.disable", "TRUE"},
    VmxFixed{"isolation.tools.paste.disable", "TRUE"},
    VmxFixed{"isolation.tools.dnd.disable", "TRUE"},
    VmxFixed{"isolation.tools.setGUIOptions.enable", "FALSE"},
    VmxFixed{"isolation.tools.guestDnDVersionSet.disable", "TRUE"},
    VmxFixed{"isolation.tools.hgfs.disable", "TRUE"},
    VmxFixed{"hgfs.linkRootShare", "FALSE"},
    VmxFixed{"hgfs.mapRootShare", "FALSE"},
    VmxFixed{"sharedFolder.maxNum", "0"},
    // What a guest could ask of the host.
    VmxFixed{"isolation.tools.diskWiper.disable", "TRUE"},
    VmxFixed{"isolation.tools.diskShrink.disable", "TRUE"},
    VmxFixed{"isolation.tools.unity.disable", "TRUE"},
    VmxFixed{"isolation.tools.unityActive.disable", "TRUE"},
    VmxFixed{"isolation.tools.unityInterlockOperation.disable", "TRUE"},
    VmxFixed{"isolation.tools.unity.push.update.disable", "TRUE"},
    VmxFixed{"isolation.tools.unity.taskbar.disable", "TRUE"},
    VmxFixed{"isolation.tools.unity.windowContents.disable", "TRUE"},
    VmxFixed{"isolation.tools.ghi.autologon.disable", "TRUE"},
    VmxFixed{"isolation.tools.ghi.launchmenu.change", "TRUE"},
    VmxFixed{"isolation.tools.ghi.protocolhandler.info.disable", "TRUE"},
    VmxFixed{"isolation.tools.ghi.trayicon.disable", "TRUE"},
    VmxFixed{"isolation.tools.dispTopoRequest.disable", "TRUE"},
    VmxFixed{"isolation.tools.trashFolderState.disable", "TRUE"},
    VmxFixed{"isolation.tools.memSchedFakeSampleStats.disable", "TRUE"},
    VmxFixed{"isolation.tools.getCreds.disable", "TRUE"},
    VmxFixed{"isolation.device.connectable.disable", "TRUE"},
    VmxFixed{"isolation.device.edit.disable", "TRUE"},
    VmxFixed{"proxyApps.publishToHost", "FALSE"},
    VmxFixed{"tools.guestlib.enableHostInfo", "FALSE"},
    VmxFixed{"tools.setInfo.sizeLimit", "1048576"},
    VmxFixed{"tools.syncTime", "FALSE"},
    VmxFixed{"tools.upgrade.policy", "manual"},
    // Devices that reach the host.
    VmxFixed{"floppy0.present", "FALSE"},
    VmxFixed{"serial0.present", "FALSE"},
    VmxFixed{"parallel0.present", "FALSE"},
    VmxFixed{"sound.present", "FALSE"},
    VmxFixed{"usb.present", "FALSE"},
    VmxFixed{"ehci.present", "FALSE"},
    VmxFixed{"usb_xhci.present", "FALSE"},
    VmxFixed{"usb.generic.autoconnect", "FALSE"},
    VmxFixed{"usb.vbluetooth.startConnected", "FALSE"},
    VmxFixed{"mks.enable3d", "FALSE"},
    VmxFixed{"RemoteDisplay.maxConnections", "1"},
    VmxFixed{"RemoteDisplay.vnc.enabled", "FALSE"},
    VmxFixed{"vmci0.present", "TRUE"},
    VmxFixed{"vmci0.unrestricted", "FALSE"},
    // No questions, a bounded log, an identity of its own.
    VmxFixed{"msg.autoAnswer", "TRUE"},
    VmxFixed{"uuid.action", "create"},
    VmxFixed{"log.keepOld", "10"},
    VmxFixed{"log.rotateSize", "1000000"},
};

constexpr std::array<std::string_view, 5> kRefused{"encryption.", "encryptedVM.", "policy.", "vtpm.",
                                                   "managedVM."};

}  // namespace

std::span<const VmxRule> vmx_allowed() { return kAllowed; }
std::span<const VmxFixed> vmx_fixed() { return kFixed; }
std::span<const std::string_view> vmx_refused() { return kRefused; }

}  // namespace vmware
