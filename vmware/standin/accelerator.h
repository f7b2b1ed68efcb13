#pragma once

#include <optional>
#include <string>

#include "vmware/standin/files.h"
#include "vmware/standin/qemu_words.h"

namespace standin {

// `auto`, `kvm` or `tcg`, from `$SALLYPORT_VMRUN_ACCEL` or else the machine's `qemu.accel`. With `auto`
// hardware virtualization is taken only when a kernel was seen to start its first program under it: /dev/kvm
// being there says little. The answer is kept in the user's cache folder for this QEMU binary and this boot
// of the host. The probe runs confined as machines are; `runtime_root` as in qemu_process.h.
Result<Accelerator> choose_accelerator(const std::string& wish, const std::string& qemu,
                                       const std::string& kernel, const std::string& initrd,
                                       const std::string& runtime_root);

// Whether a machine, under the id it would run with, could open /dev/kvm; the error says what to do.
Result<> kvm_is_open();
// What a probe has found on this boot of the host for this QEMU: `kvm`, `tcg`, or nothing yet.
std::optional<Accelerator> known_accelerator(const std::string& qemu);

// Absolute path of qemu-system-x86_64.
Result<std::string> find_qemu();

}  // namespace standin
