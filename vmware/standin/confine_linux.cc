#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "vmware/standin/confine.h"

namespace standin {
namespace {

using policy::fail;

constexpr rlim_t kMostDescriptors = 4096;
constexpr rlim_t kMostThreads = 512;

void limit(__rlimit_resource which, rlim_t most) {
  rlimit now{};
  if (getrlimit(which, &now) != 0) return;
  now.rlim_cur = now.rlim_cur < most ? now.rlim_cur : most;
  now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
  (void)setrlimit(which, &now);
}

// Landlock as of its sixth version; the headers this is built with may know less.
struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kTruncate = 1U << 14;
constexpr std::uint64_t kDeviceControl = 1U << 15;
constexpr std::uint64_t kTcp = 3;              // bind, connect
constexpr std::uint64_t kSignalsAndNames = 3;  // abstract Unix sockets, signals

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kUseDevice = kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDeviceControl;
constexpr std::uint64_t kRun = kReadFile | LANDLOCK_ACCESS_FS_EXECUTE;

std::uint64_t files_handled(int version) {
  if (version >= 5) return (1U << 16) - 1;
  if (version >= 3) return (1U << 15) - 1;
  if (version == 2) return (1U << 14) - 1;
  return (1U << 13) - 1;
}

}  // namespace

void set_limits(std::uint64_t largest_file) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, kMostDescriptors);
  limit(RLIMIT_MSGQUEUE, 0);
  if (largest_file != 0) limit(RLIMIT_FSIZE, largest_file);
}

bool leave_network(std::optional<unsigned> account) {
  if (unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0) return true;
  if (account) return false;
  const auto uid = geteuid();
  const auto gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) != 0) return false;
  const auto put = [](const char* path, const std::string& text) {
    const Fd fd(open(path, O_WRONLY | O_CLOEXEC));
    if (fd) (void)!write(fd.get(), text.data(), text.size());
  };
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", std::to_string(uid) + " " + std::to_string(uid) + " 1\n");
  put("/proc/self/gid_map", std::to_string(gid) + " " + std::to_string(gid) + " 1\n");
  return true;
}

Result<> give_up_identity(std::optional<unsigned> account, std::optional<unsigned> group) {
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Who lacks the right to change it has nothing to lose by it.
  for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap) {
    (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  }
  (void)prctl(PR_SET_SECUREBITS,
              SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
              0, 0, 0);
  if (account) {
    // Before the ids change: a limit on processes counts for a user id, and this one has one process.
    limit(RLIMIT_NPROC, kMostThreads);
    const gid_t only = group.value_or(0);
    if (setgroups(group ? 1 : 0, group ? &only : nullptr) != 0 ||
        setresgid(*account, *account, *account) != 0 || setresuid(*account, *account, *account) != 0) {
      return fail("launch", "cannot take the machine's user id");
    }
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  // SAFETY: the kernel reads two elements at this version of the header.
  if (syscall(SYS_capset, &header, none.data()) != 0) return fail("launch", "cannot give up capabilities");
  std::array<__user_cap_data_struct, 2> left{};
  if (syscall(SYS_capget, &header, left.data()) != 0) return fail("launch", "cannot read capabilities");
  for (const auto& half : left) {
    if ((half.effective | half.permitted | half.inheritable) != 0)
      return fail("launch", "capabilities are left");
  }
  uid_t real = 0, effective = 0, saved = 0;
  if (account && (getresuid(&real, &effective, &saved) != 0 || real != *account || effective != *account ||
                  saved != *account || setuid(0) == 0)) {
    return fail("launch", "the caller's user id is not given up");
  }
  return {};
}

int FileRules::landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Result<FileRules> FileRules::make(const std::string& program, Network network) {
  FileRules rules;
  const int version = landlock_version();
  if (version == 0) return rules;
  rules.handled_ = files_handled(version);
  RulesetAttributes attributes{rules.handled_, 0, 0};
  // Older kernels take a shorter struct; they refuse a longer one only if the rest of it is not zero.
  if (version >= 4 && network == Network::none) attributes.handled_access_net = kTcp;
  if (version >= 6) attributes.scoped = kSignalsAndNames;
  rules.ruleset_ =
      Fd(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!rules.ruleset_) return fail("launch", "landlock is there but cannot be used");

  rules.allow(program, kRun, 0);
  // The loader is opened as a program; nothing else of the libraries can be run.
  for (const char* loader : {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"})
    rules.allow(loader, kRun, 0);
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/qemu",
                             "/usr/local/share/qemu", "/usr/share/seabios", "/usr/share/zoneinfo"}) {
    rules.allow(folder, 0, kRead);
  }
  for (const char* file : {"/etc/ld.so.cache", "/etc/localtime"}) rules.allow(file, kReadFile, 0);
  if (network == Network::internet) rules.allow("/etc/resolv.conf", kReadFile, 0);
  for (const char* file : {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/kvm"}) {
    rules.allow(file, kUseDevice, 0);
  }
  return rules;
}

void FileRules::allow(const std::string& path, std::uint64_t file_rights, std::uint64_t folder_rights) {
  const Fd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) return;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = (S_ISDIR(info.st_mode) ? folder_rights : file_rights) & handled_;
  rule.parent_fd = fd.get();
  if (rule.allowed_access != 0) {
    (void)syscall(SYS_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
}

void FileRules::allow_reading(int fd) {
  if (!ruleset_) return;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = kReadFile;
  rule.parent_fd = fd;
  (void)syscall(SYS_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

Result<> FileRules::enforce() const {
  if (!ruleset_) return {};
  if (syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) != 0) {
    return fail("launch", "landlock refused the rules");
  }
  return {};
}

}  // namespace standin
