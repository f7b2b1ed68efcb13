#pragma once

#include <utility>

namespace enforcers {

// An open file of the operating system, owned: closed when this goes.
class Descriptor final {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Gives it away without closing it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void close() noexcept;

 private:
  int number_ = -1;
};

}  // namespace enforcers
