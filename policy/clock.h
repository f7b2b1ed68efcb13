#pragma once

#include <chrono>
#include <cstdint>

namespace policy {

// Time from outside, so that tests can bend it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::sys_time<std::chrono::nanoseconds> wall() const = 0;
  // Nanoseconds since boot, counting sleep; never goes back.
  virtual std::chrono::nanoseconds since_boot() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::chrono::sys_time<std::chrono::nanoseconds> wall() const override;
  std::chrono::nanoseconds since_boot() const override;
};

// The day in UTC.
inline std::chrono::sys_days today(const Clock& clock) {
  return std::chrono::floor<std::chrono::days>(clock.wall());
}

}  // namespace policy
