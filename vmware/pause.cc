#include "vmware/pause.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace vmware {
namespace asio = boost::asio;

asio::awaitable<void> pause(std::chrono::milliseconds time, std::stop_token stop) {
  const auto executor = co_await asio::this_coro::executor;
  if (stop.stop_requested()) co_return;
  const auto timer = std::make_shared<asio::steady_timer>(executor, time);
  const auto on_stop = [executor, timer] { asio::post(executor, [timer] { timer->cancel(); }); };
  const std::stop_callback<std::function<void()>> stopping(stop, on_stop);
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

EitherStop::EitherStop(std::stop_token a, std::stop_token b)
    : a_(std::move(a), Request{source_}), b_(std::move(b), Request{source_}) {}

struct Ticker::Beat : std::enable_shared_from_this<Ticker::Beat> {
  Beat(const asio::any_io_executor& executor, std::chrono::milliseconds every, std::function<void(int)> call)
      : timer(executor), period(every), tick(std::move(call)) {}
  void next() {
    timer.expires_after(period);
    timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (error || !self->tick) return;
      self->tick(++self->count);
      self->next();
    });
  }
  asio::steady_timer timer;
  std::chrono::milliseconds period;
  std::function<void(int)> tick;
  int count = 0;
};

Ticker::Ticker(const asio::any_io_executor& executor, std::chrono::milliseconds period,
               std::function<void(int)> tick)
    : beat_(std::make_shared<Beat>(executor, period, std::move(tick))) {
  if (beat_->tick) beat_->next();
}

Ticker::~Ticker() {
  beat_->tick = nullptr;
  beat_->timer.cancel();
}

}  // namespace vmware
