#include "vmware/turns.h"

#include <algorithm>
#include <deque>
#include <functional>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vmware {
namespace asio = boost::asio;

namespace {

struct Waiter {
  explicit Waiter(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  bool called = false;
};

}  // namespace

struct Turns::Queue {
  std::size_t free = 0;
  std::deque<std::shared_ptr<Waiter>> waiting;

  // A place became free: to the first who waits, or back.
  void pass_on() {
    if (waiting.empty()) {
      ++free;
      return;
    }
    const auto next = std::move(waiting.front());
    waiting.pop_front();
    next->called = true;
    next->timer.cancel();
  }
  void leave(const std::shared_ptr<Waiter>& waiter) {
    waiting.erase(std::remove(waiting.begin(), waiting.end(), waiter), waiting.end());
  }
};

namespace {

// Takes a waiter out of the queue however his coroutine ends; a place given to one who is gone is passed on.
template <class Queue>
class Standing final {
 public:
  Standing(std::shared_ptr<Queue> queue, std::shared_ptr<Waiter> waiter)
      : queue_(std::move(queue)), waiter_(std::move(waiter)) {
    queue_->waiting.push_back(waiter_);
  }
  ~Standing() {
    if (waiter_->called) {
      if (!taken_) queue_->pass_on();
    } else {
      queue_->leave(waiter_);
    }
  }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;
  void taken() { taken_ = true; }

 private:
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<Waiter> waiter_;
  bool taken_ = false;
};

}  // namespace

void Turns::Turn::release() {
  if (const auto queue = std::exchange(queue_, nullptr)) queue->pass_on();
}

Turns::Turns(std::size_t places) : queue_(std::make_shared<Queue>()) { queue_->free = places; }
Turns::~Turns() = default;

asio::awaitable<policy::Result<Turns::Turn>> Turns::take(std::chrono::milliseconds patience,
                                                         std::stop_token stop) {
  const auto queue = queue_;
  if (stop.stop_requested()) co_return policy::fail("cancelled", "cancelled before it began");
  if (queue->free > 0) {
    --queue->free;
    co_return Turn(queue);
  }
  const auto executor = co_await asio::this_coro::executor;
  const auto waiter = std::make_shared<Waiter>(executor);
  Standing<Queue> standing(queue, waiter);
  const auto on_stop = [executor, waiter] { asio::post(executor, [waiter] { waiter->timer.cancel(); }); };
  const std::stop_callback<std::function<void()>> stopping(stop, on_stop);
  waiter->timer.expires_after(patience);
  boost::system::error_code ignored;
  co_await waiter->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (waiter->called) {
    standing.taken();
    co_return Turn(queue);
  }
  if (stop.stop_requested()) co_return policy::fail("cancelled", "cancelled while it waited for its turn");
  co_return policy::fail("busy", "other work on the same machine did not end in time; try again");
}

}  // namespace vmware
