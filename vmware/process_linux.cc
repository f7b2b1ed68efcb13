#include "vmware/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vmware {
namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrowthPeriod{100};
constexpr std::chrono::seconds kKillPatience{5};

class Descriptor final {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

constexpr std::size_t kPage = 4096;

// A write that would cross the end of a sealed file fails for its last page as a whole; a page more than is
// kept makes sure that whoever writes too much reaches the size that counts.
std::size_t capacity(std::size_t max_output) { return (max_output / kPage + 2) * kPage; }

// Memory of a fixed size that the child writes its output into. Sealed, so that neither the child nor whoever
// it leaves behind with the descriptor can make it grow.
int make_capture(std::size_t size) {
  Descriptor memory(::memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) return -1;
  if (::ftruncate(memory.get(), static_cast<off_t>(size)) != 0) return -1;
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) return -1;
  return memory.release();
}

// The descriptor's offset is shared with the child and says how far it wrote.
std::string read_capture(int fd, std::size_t size, bool& truncated) {
  const off_t end = ::lseek(fd, 0, SEEK_CUR);
  const std::size_t written = end < 0 ? 0 : std::min(static_cast<std::size_t>(end), size);
  if (written == size) truncated = true;
  std::string bytes(written, '\0');
  std::size_t have = 0;
  while (have < written) {
    const ssize_t n = ::pread(fd, bytes.data() + have, written - have, static_cast<off_t>(have));
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

class SpawnActions final {
 public:
  SpawnActions() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  int prepare(int out, int err) {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    int failed = ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions_, out, 1);
    if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions_, err, 2);
    if (failed == 0) failed = ::posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    if (failed == 0) failed = ::posix_spawnattr_setsigmask(&attributes_, &none);
    if (failed == 0) failed = ::posix_spawnattr_setsigdefault(&attributes_, &all);
    const int flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (failed == 0) failed = ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
    return failed;
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// A running child. When this vanishes before the child ended, the child's group is killed and reaped.
class Child final {
 public:
  Child() = default;
  ~Child() {
    if (pid_ <= 0) return;
    kill_group();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // errno, or 0.
  int start(const ProcessSpec& spec, int out, int err) {
    SpawnActions how;
    if (const int failed = how.prepare(out, err)) return failed;
    std::vector<std::string> words{spec.program};
    words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
    std::vector<std::string> environment = spec.environment;
    const auto argv = pointers(words);
    const auto envp = pointers(environment);
    return ::posix_spawn(&pid_, spec.program.c_str(), how.actions(), how.attributes(), argv.data(),
                         envp.data());
  }
  int open_pidfd() const { return static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)); }
  void kill_group() const { ::kill(-pid_, SIGKILL); }
  // False when it has not ended yet.
  bool reap(int& status) {
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) return false;
    pid_ = -1;
    return true;
  }
  // Leaves it to the system: it was killed and does not end.
  void give_up() { pid_ = -1; }

 private:
  pid_t pid_ = -1;
};

// Ends the child in time: at its deadline, when it is asked to stop, when its file grows too far; and ends
// the waiting when a killed child does not go. Lives on one executor; its timers keep it alive.
class Overseer final : public std::enable_shared_from_this<Overseer> {
 public:
  Overseer(const asio::any_io_executor& executor, const Child& child, asio::posix::stream_descriptor& pidfd,
           const ProcessSpec& spec)
      : timer_(executor),
        growth_timer_(executor),
        child_(&child),
        pidfd_(&pidfd),
        deadline_(Steady::now() + spec.deadline),
        growth_(spec.growth) {}

  void begin() {
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->end(ProcessEnd::timed_out);
    });
    watch_growth();
  }
  void end(ProcessEnd why) {
    if (child_ == nullptr || why_) return;
    why_ = why;
    child_->kill_group();
    timer_.expires_after(kKillPatience);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error && self->pidfd_ != nullptr) self->pidfd_->cancel();
    });
  }
  // The child is over, or nobody waits for it any more.
  void dismiss() {
    child_ = nullptr;
    pidfd_ = nullptr;
    timer_.cancel();
    growth_timer_.cancel();
  }
  std::optional<ProcessEnd> why() const { return why_; }
  bool overgrown() const {
    struct stat found{};
    return growth_ && ::lstat(growth_->path.c_str(), &found) == 0 &&
           static_cast<std::uint64_t>(found.st_size) > growth_->max_bytes;
  }

 private:
  void watch_growth() {
    if (!growth_) return;
    growth_timer_.expires_after(kGrowthPeriod);
    growth_timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (error || self->child_ == nullptr || self->why_) return;
      if (self->overgrown()) return self->end(ProcessEnd::overgrown);
      self->watch_growth();
    });
  }

  asio::steady_timer timer_;
  asio::steady_timer growth_timer_;
  const Child* child_;
  asio::posix::stream_descriptor* pidfd_;
  Steady::time_point deadline_;
  std::optional<ProcessSpec::Growth> growth_;
  std::optional<ProcessEnd> why_;
};

class Dismissal final {
 public:
  explicit Dismissal(std::shared_ptr<Overseer> overseer) : overseer_(std::move(overseer)) {}
  ~Dismissal() { overseer_->dismiss(); }
  Dismissal(const Dismissal&) = delete;
  Dismissal& operator=(const Dismissal&) = delete;

 private:
  std::shared_ptr<Overseer> overseer_;
};

policy::Error not_started(const std::string& program, int error) {
  return policy::Error{"process.start", "cannot start `" + program + "`: " + std::strerror(error)};
}

class SystemProcesses final : public Processes {
 public:
  asio::awaitable<policy::Result<ProcessResult>> run(ProcessSpec spec, std::stop_token stop) override {
    const auto executor = co_await asio::this_coro::executor;
    const auto started = Steady::now();
    const Descriptor out(make_capture(capacity(spec.max_output)));
    const Descriptor err(make_capture(capacity(spec.max_output)));
    if (out.get() < 0 || err.get() < 0) co_return tl::unexpected(not_started(spec.program, errno));

    Child child;
    if (const int failed = child.start(spec, out.get(), err.get())) {
      co_return tl::unexpected(not_started(spec.program, failed));
    }
    const int fd = child.open_pidfd();
    if (fd < 0) co_return tl::unexpected(not_started(spec.program, errno));
    asio::posix::stream_descriptor pidfd(executor, fd);

    const auto overseer = std::make_shared<Overseer>(executor, child, pidfd, spec);
    const Dismissal dismissal(overseer);
    overseer->begin();
    const auto on_stop = [executor, overseer] {
      asio::post(executor, [overseer] { overseer->end(ProcessEnd::stopped); });
    };
    const std::stop_callback<std::function<void()>> stopping(stop, on_stop);

    int status = 0;
    boost::system::error_code error;
    while (!error && !child.reap(status)) {
      co_await pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::redirect_error(asio::use_awaitable, error));
    }
    if (error && !child.reap(status)) {
      child.give_up();
      co_return policy::fail("process.stuck", "`" + spec.program + "` was killed and does not end");
    }

    ProcessResult result;
    result.took = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - started);
    result.out = read_capture(out.get(), spec.max_output, result.truncated);
    result.err = read_capture(err.get(), spec.max_output, result.truncated);
    if (WIFSIGNALED(status)) {
      result.signal = WTERMSIG(status);
      result.end = overseer->why().value_or(ProcessEnd::signalled);
    } else {
      result.exit = WEXITSTATUS(status);
      if (overseer->overgrown()) result.end = ProcessEnd::overgrown;
    }
    co_return result;
  }
};

}  // namespace

std::unique_ptr<Processes> system_processes() { return std::make_unique<SystemProcesses>(); }

}  // namespace vmware
