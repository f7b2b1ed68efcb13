#include "policy/ids.h"

#include <openssl/rand.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace policy {

std::string random_hex32() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    std::fprintf(stderr, "sallyport: the system has no random bytes\n");
    std::abort();
  }
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    hex.push_back(digits[byte >> 4]);
    hex.push_back(digits[byte & 15]);
  }
  return hex;
}

}  // namespace policy
