#include "policy/random.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace policy {
namespace {

// The bytes at the front are still to be given. One for each thread; nothing of ours goes on in a forked
// child without exec, where both would give the same.
class Store {
 public:
  ~Store() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  void give(std::span<std::uint8_t> out) {
    while (!out.empty()) {
      if (left_ == 0) fill();
      const std::size_t n = std::min(left_, out.size());
      left_ -= n;
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(left_), n, out.begin());
      OPENSSL_cleanse(bytes_.data() + left_, n);
      out = out.subspan(n);
    }
  }

 private:
  void fill() {
    if (RAND_bytes(bytes_.data(), static_cast<int>(bytes_.size())) != 1) {
      std::fprintf(stderr, "sallyport: the random source failed in the cryptographic library\n");
      std::abort();
    }
    left_ = bytes_.size();
  }

  std::array<std::uint8_t, 1024> bytes_{};
  std::size_t left_ = 0;
};

}  // namespace

void random_bytes(std::span<std::uint8_t> out) {
  thread_local Store store;
  store.give(out);
}

std::string random_hex32() {
  static constexpr char digits[] = "0123456789abcdef";
  std::array<std::uint8_t, 16> bytes{};
  random_bytes(bytes);
  std::string hex(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    hex[2 * i] = digits[bytes[i] >> 4];
    hex[2 * i + 1] = digits[bytes[i] & 15];
  }
  return hex;
}

}  // namespace policy
