#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "policy/grant.h"

namespace vmware {

// A log that has not answered by then counts as one that refused.
inline constexpr std::chrono::seconds kSettleDeadline{30};

// The verdict, once its record stands. Resumes on the coroutine's own executor, whichever thread the log
// answers from; does not suspend when the record stands already. A grant that arrives after the deadline
// vanishes, and its record says `abandoned`.
template <class A>
boost::asio::awaitable<policy::Verdict<A>> settled(policy::Pending<A> pending) {
  struct Wait {
    explicit Wait(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    std::optional<policy::Verdict<A>> verdict;
  };
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  const auto wait = std::make_shared<Wait>(executor);
  wait->timer.expires_after(kSettleDeadline);
  std::move(pending).settle([wait, executor, here = std::this_thread::get_id()](policy::Verdict<A> verdict) {
    if (std::this_thread::get_id() == here) {
      wait->verdict.emplace(std::move(verdict));
      wait->timer.cancel();
      return;
    }
    auto carried = std::make_shared<policy::Verdict<A>>(std::move(verdict));
    boost::asio::post(executor, [wait, carried] {
      wait->verdict.emplace(std::move(*carried));
      wait->timer.cancel();
    });
  });
  if (!wait->verdict) {
    boost::system::error_code ignored;
    co_await wait->timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  if (wait->verdict) co_return std::move(*wait->verdict);
  policy::Denial denial;
  denial.code = "deny.audit";
  denial.rule.id = "builtin:log";
  denial.reason = "the log did not answer in time";
  denial.hint = "look at the disk that holds the log";
  co_return policy::Verdict<A>(std::move(denial));
}

}  // namespace vmware
