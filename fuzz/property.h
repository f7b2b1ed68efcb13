#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

// What every fuzz target needs: its input as text, and a property that must hold.
namespace fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  // SAFETY: unsigned char may be read as char.
  return {reinterpret_cast<const char*>(bytes), size};
}

// Ends the process when it does not, which is a finding.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace fuzz
