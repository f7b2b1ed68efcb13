#include <fcntl.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "vmware/standin/launch.h"
#include "vmware/standin/runtime.h"

namespace standin {
namespace {

using policy::fail;

constexpr int kHeldFd = 3;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  // SAFETY: exec does not write to its words.
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Pipe {
  Fd read_end, write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail("program", "no pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Only descriptors 0 to 2 and, if wanted, one more stay. Runs between fork and exec.
void arrange_descriptors(int input, int output, int errors, int held) {
  // The held one first, out of the way of the numbers to be taken.
  const int kept = held >= 0 ? fcntl(held, F_DUPFD, 10) : -1;
  const int out_copy = fcntl(output, F_DUPFD, 10);
  const int err_copy = fcntl(errors, F_DUPFD, 10);
  dup2(input, 0);
  dup2(out_copy, 1);
  dup2(err_copy, 2);
  if (kept >= 0) dup2(kept, kHeldFd);
  (void)syscall(SYS_close_range, kept >= 0 ? kHeldFd + 1U : 3U, ~0U, 0U);
}

void limit(__rlimit_resource which, rlim_t most) {
  rlimit now{};
  if (getrlimit(which, &now) != 0) return;
  now.rlim_cur = now.rlim_cur < most ? now.rlim_cur : most;
  now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
  (void)setrlimit(which, &now);
}

// A network with nothing in it. Root may have one at once; others through a user namespace that maps only
// themselves, where the system permits that. Not having it is no failure: the machine has no network device
// anyway.
void leave_network() {
  if (unshare(CLONE_NEWNET) == 0) return;
  const auto uid = geteuid();
  const auto gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return;
  const auto put = [](const char* path, const std::string& text) {
    const Fd fd(open(path, O_WRONLY | O_CLOEXEC));
    if (fd) (void)!write(fd.get(), text.data(), text.size());
  };
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", std::to_string(uid) + " " + std::to_string(uid) + " 1\n");
  put("/proc/self/gid_map", std::to_string(gid) + " " + std::to_string(gid) + " 1\n");
}

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFile = kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kWriteFolder = kRead | kWriteFile | LANDLOCK_ACCESS_FS_MAKE_REG |
                                       LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr std::uint64_t kAll = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;

void allow_path(int ruleset, const std::string& path, std::uint64_t file_rights,
                std::uint64_t folder_rights) {
  const Fd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) return;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(info.st_mode) ? folder_rights : file_rights;
  rule.parent_fd = fd.get();
  (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

// Landlock: of the file system only what is listed can be opened. Kernels without it are let pass; the
// seccomp filter and the unprivileged user remain there.
Result<> restrict_files(const Confinement& confinement, const std::string& program) {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = kAll;
  const Fd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) {
    if (errno == ENOSYS || errno == EOPNOTSUPP) return {};
    return fail("launch", "landlock is there but cannot be used");
  }
  const int fd = ruleset.get();
  constexpr std::uint64_t kRun = LANDLOCK_ACCESS_FS_EXECUTE;
  allow_path(fd, program, kReadFile | kRun, 0);
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/lib", "/lib64"})
    allow_path(fd, folder, 0, kRead | kRun);
  for (const char* folder :
       {"/usr/share/qemu", "/usr/share/seabios", "/usr/share/ipxe", "/usr/share/zoneinfo"}) {
    allow_path(fd, folder, 0, kRead);
  }
  for (const char* file : {"/etc/ld.so.cache", "/etc/resolv.conf", "/etc/localtime"})
    allow_path(fd, file, kReadFile, 0);
  for (const char* file : {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/kvm"}) {
    allow_path(fd, file, kWriteFile, 0);
  }
  for (const std::string& path : confinement.readable) allow_path(fd, path, kReadFile, kRead);
  for (const std::string& path : confinement.writable) allow_path(fd, path, kWriteFile, kWriteFolder);
  if (syscall(SYS_landlock_restrict_self, fd, 0) != 0) return fail("launch", "landlock refused the rules");
  return {};
}

}  // namespace

Result<Fd> launch_detached(LaunchPlan plan) {
  auto errors = make_pipe();
  if (!errors) return tl::unexpected(errors.error());
  std::vector<std::string> words{"sallyport-vmrun", "--launch"};
  if (!plan.pid_file.empty()) words.insert(words.end(), {"--pid-file", plan.pid_file});
  for (const std::string& path : plan.confinement.readable) words.insert(words.end(), {"--read", path});
  for (const std::string& path : plan.confinement.writable) words.insert(words.end(), {"--write", path});
  if (plan.confinement.network == Confinement::Network::host) words.emplace_back("--network");
  words.emplace_back("--");
  words.insert(words.end(), plan.argv.begin(), plan.argv.end());
  const std::vector<char*> argv = pointers(words);
  const Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nowhere) return fail("launch", "no /dev/null");

  const pid_t middle = fork();
  if (middle < 0) return fail("launch", "cannot fork");
  if (middle == 0) {
    // Twice, so that the process is nobody's child here and never a session leader that could get a terminal.
    setsid();
    const pid_t last = fork();
    if (last != 0) _exit(last < 0 ? 1 : 0);
    const int output = plan.streams == LaunchPlan::Streams::caller_stdout ? 1 : nowhere.get();
    arrange_descriptors(nowhere.get(), output, errors->write_end.get(), plan.held.get());
    char* const no_environment[] = {nullptr};
    execve("/proc/self/exe", argv.data(), no_environment);
    _exit(127);
  }
  int status = 0;
  while (waitpid(middle, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("launch", "cannot fork");
  return std::move(errors->read_end);
}

int launcher_main(const std::vector<std::string>& words) {
  Confinement confinement;
  std::string pid_file;
  std::size_t at = 0;
  bool network = false;
  for (; at < words.size() && words[at] != "--"; ++at) {
    if (words[at] == "--network") {
      network = true;
    } else if (at + 1 < words.size() && words[at] == "--read") {
      confinement.readable.push_back(words[++at]);
    } else if (at + 1 < words.size() && words[at] == "--write") {
      confinement.writable.push_back(words[++at]);
    } else if (at + 1 < words.size() && words[at] == "--pid-file") {
      pid_file = words[++at];
    } else {
      return 2;
    }
  }
  const std::vector<std::string> argv(
      words.begin() + static_cast<std::ptrdiff_t>(std::min(at + 1, words.size())), words.end());
  if (argv.empty() || !argv[0].starts_with("/")) return 2;
  umask(077);
  if (chdir("/") != 0) return 2;
  if (!pid_file.empty() && !record_process(pid_file)) {
    std::fputs("launcher: cannot write the pid file\n", stderr);
    return 2;
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 4096);
  limit(RLIMIT_MSGQUEUE, 0);
  if (!network) leave_network();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  if (auto restricted = restrict_files(confinement, argv[0]); !restricted) {
    std::fprintf(stderr, "launcher: %s\n", restricted.error().message.c_str());
    return 2;
  }
  const std::vector<char*> program = pointers(argv);
  char* const no_environment[] = {nullptr};
  execve(argv[0].c_str(), program.data(), no_environment);
  std::fprintf(stderr, "launcher: cannot execute %s\n", argv[0].c_str());
  return 2;
}

Result<std::string> run_program(const std::vector<std::string>& argv, Deadline deadline,
                                std::size_t limit_bytes, std::string_view until) {
  auto output = make_pipe();
  if (!output) return tl::unexpected(output.error());
  const Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::vector<char*> words = pointers(argv);
  const pid_t child = fork();
  if (child < 0) return fail("program", "cannot fork");
  if (child == 0) {
    arrange_descriptors(nowhere.get(), output->write_end.get(), output->write_end.get(), -1);
    execv(words[0], words.data());
    _exit(127);
  }
  output->write_end.reset();
  std::string text;
  bool timed_out = false;
  for (;;) {
    pollfd waiting{output->read_end.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, left_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    timed_out = ready <= 0;
    if (timed_out) break;
    std::array<char, 4096> piece;
    const ssize_t got = read(output->read_end.get(), piece.data(), piece.size());
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > limit_bytes || (!until.empty() && text.find(until) != std::string::npos)) break;
  }
  const bool seen = !until.empty() && text.find(until) != std::string::npos;
  int status = 0;
  if (timed_out || seen || text.size() > limit_bytes) kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (seen) return text;
  if (timed_out) return fail("program.timeout", "the program did not end in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("program.failed", text.substr(0, 500));
  return text;
}

std::string read_available(const Fd& fd, std::size_t limit_bytes, Millis wait) {
  std::string text;
  const Deadline deadline = after(wait);
  while (text.size() < limit_bytes) {
    pollfd waiting{fd.get(), POLLIN, 0};
    if (poll(&waiting, 1, left_ms(deadline)) <= 0) break;
    std::array<char, 4096> piece;
    const ssize_t got = read(fd.get(), piece.data(), std::min(piece.size(), limit_bytes - text.size()));
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace standin
