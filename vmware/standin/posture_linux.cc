#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "vmware/standin/accelerator.h"
#include "vmware/standin/account.h"
#include "vmware/standin/confine.h"
#include "vmware/standin/posture.h"

namespace standin {
namespace {

// In a process of its own, as trying is doing.
bool can_leave_network(bool with_account) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0)
    _exit(leave_network(with_account ? std::optional<unsigned>(kAccounts.first) : std::nullopt) ? 0 : 1);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string own_uid(const std::optional<AccountRange>& range) {
  if (range) return "yes; " + std::to_string(range->first) + " to " + std::to_string(range->last);
  if (geteuid() == 0) return "no; this container maps too few user ids: give it at least 65536";
  return "no; machines run as you, which only root's need not: run Sallyport as a service for more";
}

std::string landlock() {
  const int version = FileRules::landlock_version();
  if (version >= 3) return "yes; version " + std::to_string(version);
  if (version > 0) return "yes; version " + std::to_string(version) + ", Linux 6.2 and later restrict more";
  return "no; needs Linux 5.13 or later with `landlock` among the names in /sys/kernel/security/lsm";
}

std::string kvm() {
  if (const auto open = kvm_is_open(); !open) return "no; " + open.error().message;
  const auto qemu = find_qemu();
  const auto known = qemu ? known_accelerator(*qemu) : std::nullopt;
  if (!known) return "yes; open, and not tried since the host was started: the first machine does that";
  if (*known == Accelerator::kvm) return "yes; a kernel was seen to boot with it";
  return "no; /dev/kvm is there, but no kernel boots with it: software emulation is used, which is no "
         "security "
         "boundary";
}

// Machines stay in the cgroup of who starts them; its limits, or those of a group above, hold for them
// together.
std::string memory_limit() {
  const std::string groups = read_small_file("/proc/self/cgroup", 65536).value_or("");
  const std::size_t at = groups.starts_with("0::") ? 3 : groups.find("\n0::");
  if (at != std::string::npos) {
    const std::size_t begin = groups.find('/', at);
    std::string group = groups.substr(begin, groups.find('\n', begin) - begin);
    while (!group.empty() && group != "/") {
      const std::string most =
          read_small_file("/sys/fs/cgroup" + group + "/memory.max", 64).value_or("max\n");
      if (most != "max\n")
        return "yes; " + most.substr(0, most.size() - 1) + " bytes for all of `" + group + "`";
      group = folder_of(group);
    }
  }
  return "no; machines may use their own size and more: set `MemoryMax=` of the service, or of your slice";
}

}  // namespace

std::string posture() {
  const auto range = account_range();
  std::string text = "own-uid: " + own_uid(range) + "\n";
  text += can_leave_network(range.has_value())
              ? "own-network: yes; none but its own, for machines without `nat`\n"
              : "own-network: no; needs root, or user namespaces for ordinary users "
                "(`sysctl user.max_user_namespaces`)\n";
  text += "landlock: " + landlock() + "\nkvm: " + kvm() + "\nmemory-limit: " + memory_limit() + "\n";
  return text;
}

}  // namespace standin
