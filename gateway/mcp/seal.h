#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gateway::mcp {

// What a client carries for us from one call to the next, which it can neither read nor change: AES-256-GCM
// under a key of this process. If this were wrong, a client could answer questions that it was never asked.
class Seal final {
 public:
  Seal();
  // Lower-case hex. It opens with the same `context` only.
  std::string close(std::string_view text, std::string_view context) const;
  // Nothing for whatever close() did not give.
  std::optional<std::string> open(std::string_view sealed, std::string_view context) const;

 private:
  std::array<std::uint8_t, 32> key_;
};

inline constexpr std::size_t kMaxSealedBytes = 1024;

}  // namespace gateway::mcp
