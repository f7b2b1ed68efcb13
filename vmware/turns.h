#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "policy/result.h"

namespace vmware {

// A queue before a few places, for coroutines of one thread: whoever takes a turn holds one of the places
// until the turn vanishes; the others wait in the order they came.
class Turns final {
  struct Queue;

 public:
  class [[nodiscard]] Turn final {
   public:
    Turn() = default;
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&& other) noexcept {
      release();
      queue_ = std::move(other.queue_);
      return *this;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { release(); }
    void release();

   private:
    friend class Turns;
    explicit Turn(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    std::shared_ptr<Queue> queue_;
  };

  explicit Turns(std::size_t places);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns();

  // Fails with `busy` after `patience`, with `cancelled` when stopped.
  boost::asio::awaitable<policy::Result<Turn>> take(std::chrono::milliseconds patience, std::stop_token);

 private:
  std::shared_ptr<Queue> queue_;
};

}  // namespace vmware
