#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmware/standin/accelerator.h"
#include "vmware/standin/qemu_process.h"

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

std::string cache_file() {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + "/accelerator";
}

// Boots the kernel without a disk until it says that it starts its first program.
bool boots_with_kvm(const std::string& qemu, const std::string& kernel, const std::string& initrd,
                    const std::string& runtime_root) {
  auto probe = confined_probe({qemu,
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
                               "-append",
                               "console=ttyS0 loglevel=7 panic=1"},
                              kernel, initrd, runtime_root);
  if (!probe) return false;
  return run_confined(std::move(*probe), after(kProbeWait), 1 << 20, "as init process").has_value();
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

Result<> kvm_is_open() {
  if (account_range()) {
    const auto group = kvm_group();
    if (!group) return tl::unexpected(group.error());
    return {};
  }
  if (access("/dev/kvm", F_OK) != 0) return fail("kvm.absent", "there is no /dev/kvm");
  if (access("/dev/kvm", R_OK | W_OK) != 0) {
    return fail("kvm.closed",
                "/dev/kvm is closed to this user; `sudo usermod -aG kvm $USER` and log in anew");
  }
  return {};
}

std::optional<Accelerator> known_accelerator(const std::string& qemu) {
  const std::string key = probe_key(qemu);
  const std::string file = cache_file();
  if (key.empty() || file.empty()) return std::nullopt;
  const std::string known = read_small_file(file, 4096).value_or("");
  if (known == key + " kvm\n") return Accelerator::kvm;
  if (known == key + " tcg\n") return Accelerator::tcg;
  return std::nullopt;
}

Result<Accelerator> choose_accelerator(const std::string& wish, const std::string& qemu,
                                       const std::string& kernel, const std::string& initrd,
                                       const std::string& runtime_root) {
  if (wish == "tcg") return Accelerator::tcg;
  if (wish == "kvm") return Accelerator::kvm;
  if (!wish.empty() && wish != "auto") return fail("accel", "the accelerator is `auto`, `kvm` or `tcg`");
  if (!kvm_is_open()) return Accelerator::tcg;
  if (const auto known = known_accelerator(qemu)) return *known;
  // Without a kernel of its own there is nothing to probe with, and nothing is learned for other machines.
  if (kernel.empty() || initrd.empty()) return Accelerator::tcg;
  const bool works = boots_with_kvm(qemu, kernel, initrd, runtime_root);
  const std::string folder = cache_folder();
  const std::string key = probe_key(qemu);
  if (!folder.empty() && !key.empty()) {
    (void)mkdir(folder_of(folder).c_str(), 0700);
    if (make_private_folder(folder)) {
      (void)write_file_atomically(cache_file(), key + (works ? " kvm\n" : " tcg\n"));
    }
  }
  return works ? Accelerator::kvm : Accelerator::tcg;
}

}  // namespace standin
