#include "gateway/owner/spawn.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/net/unix_socket.h"
#include "gateway/settings/folder.h"

extern char** environ;

namespace gateway {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kReadyFd = 3;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// The daemon's words, without waiting for it. `ready` is the write end that it closes when it listens.
Result<void> spawn_daemon(const std::string& state_dir, const std::string& program,
                          const std::vector<std::string>& arguments, int ready) {
  std::vector<std::string> words{program, "daemon", "--ready-fd", std::to_string(kReadyFd)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto argv = pointers(words);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  const std::string log = state_dir + "/owner.log";
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, ready, kReadyFd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kReadyFd + 1);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0)
    return policy::fail("owner.start", std::string("cannot start the owner: ") + std::strerror(failed));
  return {};
}

}  // namespace

Result<Descriptor> reach_owner(const std::string& state_dir, const std::string& socket_path,
                               const std::string& program, const std::vector<std::string>& arguments,
                               std::chrono::milliseconds within) {
  const auto until = Clock::now() + within;
  while (true) {
    auto connection = connect_unix(socket_path);
    if (connection || connection.error().code != "socket.absent") return connection;
    if (Clock::now() >= until) {
      return policy::fail("owner.start",
                          "the owner process did not come up in time; see owner.log in the state folder");
    }
    auto starting = take_lock(state_dir + "/start.lock");
    if (!starting) {
      if (starting.error().code != "lock.held") return tl::unexpected(starting.error());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    if (auto again = connect_unix(socket_path); again || again.error().code != "socket.absent") return again;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return policy::fail("owner.start", "cannot make a pipe");
    Descriptor readable(ends[0]);
    {
      Descriptor writable(ends[1]);
      if (auto spawned = spawn_daemon(state_dir, program, arguments, writable.get()); !spawned) {
        return tl::unexpected(spawned.error());
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd watched{readable.get(), POLLIN, 0};
    if (left.count() > 0) ::poll(&watched, 1, static_cast<int>(left.count()));
    char told = 0;
    if (::read(readable.get(), &told, 1) == 1) continue;
    if (auto last = connect_unix(socket_path)) return last;
    return policy::fail("owner.start", "the owner process ended at once; see owner.log in the state folder");
  }
}

void harden_process() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int run_in_foreground(const std::vector<std::string>& given) {
  auto words = given;
  auto argv = pointers(words);
  pid_t pid = -1;
  if (words.empty() || ::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return 127;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void tell_ready(const Descriptor& ready) {
  const char yes = '1';
  // A starter that is gone needs no word.
  [[maybe_unused]] const auto told = ::write(ready.get(), &yes, 1);
}

void sleep_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

std::uint32_t own_user() { return ::geteuid(); }

std::string account_name(std::uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(16384, '\0');
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return found->pw_name;
}

Descriptor duplicate(int fd) { return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

Descriptor end_signals() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::sigaddset(&ends, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  return Descriptor(::signalfd(-1, &ends, SFD_CLOEXEC));
}

Ended wait_for_end(int fd, int signals) {
  while (true) {
    pollfd watched[2] = {{fd, POLLIN, 0}, {signals, POLLIN, 0}};
    const int ready = ::poll(watched, 2, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (watched[1].revents != 0) return Ended::signal;
    if (watched[0].revents != 0) {
      char bytes[256];
      const auto got = ::read(fd, bytes, sizeof bytes);
      if (got > 0) return Ended::done;
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      return Ended::hang_up;
    }
  }
}

}  // namespace gateway
