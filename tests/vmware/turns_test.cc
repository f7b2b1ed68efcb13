#include "vmware/turns.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <boost/asio/detached.hpp>

#include "tests/vmware/house.h"
#include "vmware/pause.h"

namespace vmware {
namespace {

using namespace std::chrono_literals;

boost::asio::awaitable<void> work(Turns& turns, char name, std::string& order,
                                  std::chrono::milliseconds time) {
  auto turn = co_await turns.take(10s, std::stop_token());
  if (!turn) co_return;
  order += name;
  co_await pause(time, std::stop_token());
}

boost::asio::awaitable<std::string> code_of(Turns& turns, std::chrono::milliseconds patience,
                                            std::stop_token stop) {
  auto turn = co_await turns.take(patience, stop);
  co_return turn ? "taken" : turn.error().code;
}

TEST(Turns, AreGivenInTheOrderOfArrival) {
  house::Thread thread;
  Turns turns(1);
  std::string order;
  for (const char name : {'a', 'b', 'c'}) {
    boost::asio::co_spawn(thread.io(), work(turns, name, order, 5ms), boost::asio::detached);
  }
  thread.wait(work(turns, 'd', order, 1ms));
  EXPECT_EQ(order, "abcd");
}

TEST(Turns, RunOutOfPatience) {
  house::Thread thread;
  Turns turns(1);
  std::string order;
  boost::asio::co_spawn(thread.io(), work(turns, 'a', order, 200ms), boost::asio::detached);
  EXPECT_EQ(thread.wait(code_of(turns, 20ms, {})), "busy");
  thread.wait(pause(300ms, {}));
  EXPECT_EQ(thread.wait(code_of(turns, 20ms, {})), "taken");
}

TEST(Turns, AreNotLostOnOneWhoWasStoppedWhileHeWaited) {
  house::Thread thread;
  Turns turns(1);
  std::string order;
  std::stop_source stop;
  boost::asio::co_spawn(thread.io(), work(turns, 'a', order, 100ms), boost::asio::detached);
  boost::asio::steady_timer later(thread.io(), 20ms);
  later.async_wait([&](boost::system::error_code) { stop.request_stop(); });
  EXPECT_EQ(thread.wait(code_of(turns, 10s, stop.get_token())), "cancelled");
  EXPECT_EQ(thread.wait(code_of(turns, 10s, {})), "taken");
}

}  // namespace
}  // namespace vmware
