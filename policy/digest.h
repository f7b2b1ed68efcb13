#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace policy {

// A SHA-256 value (FIPS 180-4).
struct Sha256 {
  std::array<std::uint8_t, 32> bytes{};
  std::string hex() const;
  bool operator==(const Sha256&) const = default;
};

Sha256 sha256(std::string_view bytes);
Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

// SHA-256 of bytes that arrive in pieces.
class Sha256Stream final {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;
  void update(std::string_view bytes);
  // The digest of all bytes so far; the stream is finished afterwards and a second call aborts.
  Sha256 finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace policy
