#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "policy/clock.h"

namespace fakes {

// A clock that stands still until it is told to go. Thread-safe. Starts on 2026-01-01T00:00:00Z, one hour
// after boot.
class FakeClock final : public policy::Clock {
 public:
  std::chrono::sys_time<std::chrono::nanoseconds> wall() const override {
    return std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(wall_.load()));
  }
  std::chrono::nanoseconds since_boot() const override { return std::chrono::nanoseconds(boot_.load()); }

  // Time passes: both clocks go on.
  void advance(std::chrono::nanoseconds by) {
    wall_ += by.count();
    boot_ += by.count();
  }
  // Somebody sets the wall clock, forwards or back; the time since boot does not notice.
  void jump_wall(std::chrono::nanoseconds by) { wall_ += by.count(); }

 private:
  std::atomic<std::int64_t> wall_{1'767'225'600'000'000'000};
  std::atomic<std::int64_t> boot_{3'600'000'000'000};
};

}  // namespace fakes
