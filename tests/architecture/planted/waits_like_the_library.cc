// The standard library's own futex is no door.
#include <functional>
#include <stop_token>

bool wait(std::stop_token stop) {
  const std::stop_callback<std::function<void()>> stopping(stop, [] {});
  return stop.stop_requested();
}
