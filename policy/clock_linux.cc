#include <ctime>

#include <cstdio>
#include <cstdlib>

#include "policy/clock.h"

namespace policy {
namespace {

std::chrono::nanoseconds read_clock(clockid_t which) {
  timespec now{};
  if (clock_gettime(which, &now) != 0) {
    std::fprintf(stderr, "sallyport: the system has no such clock\n");
    std::abort();
  }
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::chrono::sys_time<std::chrono::nanoseconds> SystemClock::wall() const {
  return std::chrono::sys_time<std::chrono::nanoseconds>(read_clock(CLOCK_REALTIME));
}

std::chrono::nanoseconds SystemClock::since_boot() const { return read_clock(CLOCK_BOOTTIME); }

}  // namespace policy
