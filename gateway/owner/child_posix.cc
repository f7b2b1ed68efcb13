#include "gateway/owner/child.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/settings/folder.h"

extern char** environ;

namespace gateway {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::minutes kMaxTime{60};

std::string folder_of_program() {
  const auto program = own_executable();
  return program.substr(0, program.rfind('/'));
}

// Our own settings stay with us: one of them may be a password.
std::vector<char*> environment_for_children() {
  std::vector<char*> kept;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    if (entry.starts_with("VMSANDBOX_")) continue;
    if (entry.starts_with("SALLYPORT_") && !entry.starts_with("SALLYPORT_VMRUN_")) continue;
    kept.push_back(*at);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

policy::Result<int> start_child(std::vector<std::string> words, const Descriptor& out,
                                const Descriptor& err) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.get(), 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  auto environment = environment_for_children();
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return policy::fail("program.start", "cannot start `" + words[0] + "`: " + std::strerror(failed));
  }
  return pid;
}

asio::awaitable<int> run_child(std::vector<std::string> words, Descriptor out, Descriptor err) {
  const auto started = start_child(std::move(words), out, err);
  if (!started) co_return 127;
  const pid_t pid = *started;
  const auto executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor ended(executor);
  const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd >= 0) ended.assign(pidfd);
  asio::steady_timer deadline(executor, kMaxTime);
  deadline.async_wait([pid](const boost::system::error_code& error) {
    if (!error) ::kill(-pid, SIGKILL);
  });
  if (pidfd >= 0) {
    co_await ended.async_wait(asio::posix::stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
  }
  deadline.cancel();
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  co_return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string sibling_program(const std::string& name) { return folder_of_program() + "/" + name; }

std::string image_recipe() { return folder_of_program() + "/../share/sallyport/image/build.sh"; }

}  // namespace gateway
