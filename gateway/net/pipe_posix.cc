#include "gateway/net/pipe.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace gateway {
namespace asio = boost::asio;
namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

// epoll(7) refuses regular files, which are always ready anyway.
bool is_plain_file(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// A terminal's flags belong to everybody who has it open, the user's shell included.
class KeptFlags {
 public:
  explicit KeptFlags(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {}
  void restore() const {
    if (flags_ >= 0 && (flags_ & O_NONBLOCK) == 0) ::fcntl(fd_, F_SETFL, flags_);
  }

 private:
  int fd_;
  int flags_;
};

// A client that is gone must be an error of one write, and not the end of the process.
void survive_broken_pipes() {
  static const auto before = ::signal(SIGPIPE, SIG_IGN);
  (void)before;
}

}  // namespace

struct Pipe::State : std::enable_shared_from_this<Pipe::State> {
  State(asio::any_io_executor executor, Descriptor input, Descriptor output)
      : in_file(is_plain_file(input.get()) ? std::move(input) : Descriptor()),
        out_file(is_plain_file(output.get()) ? std::move(output) : Descriptor()),
        in(executor),
        out(executor),
        idle(executor),
        in_flags(input.get()),
        out_flags(output.get()) {
    if (input) in.assign(input.release());
    if (output) out.assign(output.release());
    idle.expires_at(asio::steady_timer::time_point::max());
    survive_broken_pipes();
  }

  // Each message in a write of its own: clients that get a notice and the answer behind it in one piece
  // handle the answer first, and then wonder about the notice.
  asio::awaitable<void> flush() {
    const auto keep = shared_from_this();
    while (!queue.empty() && !closed) {
      sending = std::move(queue.front());
      queue.pop_front();
      std::size_t at = 0;
      while (at < sending.size() && !closed) {
        if (out_file) {
          const auto wrote = ::write(out_file.get(), sending.data() + at, sending.size() - at);
          if (wrote <= 0) closed = true;
          if (wrote > 0) at += static_cast<std::size_t>(wrote);
          continue;
        }
        auto left = asio::buffer(sending.data() + at, sending.size() - at);
        auto wrote = co_await out.async_write_some(left, kToken);
        auto& [error, count] = wrote;
        if (error) closed = true;
        at += count;
      }
      queued -= std::min(queued, sending.size());
    }
    flushing = false;
    idle.cancel();
  }

  Descriptor in_file, out_file;
  asio::posix::stream_descriptor in, out;
  asio::steady_timer idle;
  KeptFlags in_flags, out_flags;
  std::array<char, 65536> arrived;  // by one read
  std::deque<std::string> queue;
  std::string sending;
  std::size_t queued = 0;  // bytes of both
  bool flushing = false;
  bool closed = false;
};

Pipe::Pipe(asio::any_io_executor executor, Descriptor in, Descriptor out)
    : state_(std::make_shared<State>(std::move(executor), std::move(in), std::move(out))) {}

Pipe::~Pipe() { close(); }

asio::awaitable<std::string> Pipe::read_some() {
  const auto state = state_;
  auto& arrived = state->arrived;
  if (state->closed) co_return std::string();
  if (state->in_file) {
    const auto got = ::read(state->in_file.get(), arrived.data(), arrived.size());
    co_return std::string(arrived.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  auto into = asio::buffer(arrived);
  auto read = co_await state->in.async_read_some(into, kToken);
  auto& [error, count] = read;
  co_return std::string(arrived.data(), error ? 0 : count);
}

void Pipe::write(std::string bytes) {
  if (state_->closed || bytes.empty()) return;
  if (state_->queued + bytes.size() > kMaxQueued) {
    close();
    return;
  }
  state_->queued += bytes.size();
  state_->queue.push_back(std::move(bytes));
  if (std::exchange(state_->flushing, true)) return;
  asio::co_spawn(state_->in.get_executor(), state_->flush(), asio::detached);
}

void Pipe::close() {
  if (std::exchange(state_->closed, true)) return;
  state_->queue.clear();
  boost::system::error_code ignored;
  if (state_->in.is_open()) {
    state_->in.cancel(ignored);
    state_->in_flags.restore();
    state_->in.close(ignored);
  }
  if (state_->out.is_open()) {
    state_->out.cancel(ignored);
    state_->out_flags.restore();
    state_->out.close(ignored);
  }
  state_->idle.cancel();
}

asio::awaitable<void> Pipe::drained(std::chrono::milliseconds within) {
  const auto state = state_;
  const auto until = std::chrono::steady_clock::now() + within;
  while (state->flushing && !state->closed && std::chrono::steady_clock::now() < until) {
    state->idle.expires_at(until);
    co_await state->idle.async_wait(kToken);
  }
}

}  // namespace gateway
