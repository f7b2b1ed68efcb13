#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vmware {

// A big-endian number of at most 8 bytes; the caller has made sure that they are there.
inline std::uint64_t big_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(at, width)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace vmware
