#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace vmware {

// Sleeps, or less when stopped.
boost::asio::awaitable<void> pause(std::chrono::milliseconds, std::stop_token);

// Requests a stop as soon as either of two does.
class EitherStop final {
 public:
  EitherStop(std::stop_token a, std::stop_token b);
  EitherStop(const EitherStop&) = delete;
  EitherStop& operator=(const EitherStop&) = delete;
  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Request> a_, b_;
};

// Calls `tick` every `period` while this lives, on the executor's thread.
class Ticker final {
 public:
  Ticker(const boost::asio::any_io_executor&, std::chrono::milliseconds period,
         std::function<void(int)> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  struct Beat;
  std::shared_ptr<Beat> beat_;
};

}  // namespace vmware
