#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmware/standin/accelerator.h"
#include "vmware/standin/launch.h"

namespace standin {
namespace {

using policy::fail;

constexpr Millis kProbeWait{10000};

std::string cache_folder() {
  const std::string base = environment("XDG_CACHE_HOME");
  const std::string home = environment("HOME");
  if (!base.empty()) return base + "/sallyport-vmrun";
  return home.empty() ? std::string() : home + "/.cache/sallyport-vmrun";
}

// What the answer holds for: another binary or another boot of the host may behave otherwise.
std::string probe_key(const std::string& qemu) {
  struct stat info{};
  if (stat(qemu.c_str(), &info) != 0) return {};
  std::string boot = read_small_file("/proc/sys/kernel/random/boot_id", 64).value_or("");
  if (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot + " " + std::to_string(info.st_ino) + "-" + std::to_string(info.st_mtim.tv_sec) + "-" +
         std::to_string(info.st_size);
}

// Boots the kernel without a disk until it says that it starts its first program.
bool boots_with_kvm(const std::string& qemu, const std::string& kernel, const std::string& initrd) {
  if (access("/dev/kvm", R_OK | W_OK) != 0 || kernel.empty() || initrd.empty()) return false;
  const auto seen = run_program({qemu,
                                 "-nodefaults",
                                 "-no-user-config",
                                 "-display",
                                 "none",
                                 "-machine",
                                 "q35",
                                 "-accel",
                                 "kvm",
                                 "-cpu",
                                 "host",
                                 "-smp",
                                 "1",
                                 "-m",
                                 "256",
                                 "-nic",
                                 "none",
                                 "-no-reboot",
                                 "-serial",
                                 "stdio",
                                 "-kernel",
                                 kernel,
                                 "-initrd",
                                 initrd,
                                 "-append",
                                 "console=ttyS0 loglevel=7 panic=1"},
                                after(kProbeWait), 1 << 20, "as init process");
  return seen.has_value();
}

}  // namespace

Result<std::string> find_qemu() {
  for (const char* path : {"/usr/bin/qemu-system-x86_64", "/usr/local/bin/qemu-system-x86_64"}) {
    if (access(path, X_OK) == 0) return std::string(path);
  }
  return fail(
      "qemu",
      "vmrun was unable to start. qemu-system-x86_64 is missing; install the package qemu-system-x86");
}

Result<Accelerator> choose_accelerator(const std::string& wish, const std::string& qemu,
                                       const std::string& kernel, const std::string& initrd) {
  if (wish == "tcg") return Accelerator::tcg;
  if (wish == "kvm") return Accelerator::kvm;
  if (!wish.empty() && wish != "auto") return fail("accel", "the accelerator is `auto`, `kvm` or `tcg`");
  if (access("/dev/kvm", R_OK | W_OK) != 0) return Accelerator::tcg;

  const std::string folder = cache_folder();
  const std::string file = folder + "/accelerator";
  const std::string key = probe_key(qemu);
  const std::string known = folder.empty() ? "" : read_small_file(file, 4096).value_or("");
  if (!key.empty() && known == key + " kvm\n") return Accelerator::kvm;
  if (!key.empty() && known == key + " tcg\n") return Accelerator::tcg;
  // Without a kernel of its own there is nothing to probe with, and nothing is learned for other machines.
  if (kernel.empty() || initrd.empty()) return Accelerator::tcg;
  const bool works = boots_with_kvm(qemu, kernel, initrd);
  if (!folder.empty() && !key.empty()) {
    (void)mkdir(folder_of(folder).c_str(), 0700);
    if (make_private_folder(folder)) (void)write_file_atomically(file, key + (works ? " kvm\n" : " tcg\n"));
  }
  return works ? Accelerator::kvm : Accelerator::tcg;
}

}  // namespace standin
