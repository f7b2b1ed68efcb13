#include "policy/digest.h"

#include <cstdio>
#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace policy {
namespace {

constexpr char kHex[] = "0123456789abcdef";

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "sallyport: %s failed in the cryptographic library\n", what);
  std::abort();
}

template <std::size_t N>
std::string to_hex(const std::array<std::uint8_t, N>& bytes) {
  std::string out;
  out.reserve(2 * N);
  for (const auto b : bytes) {
    out.push_back(kHex[b >> 4]);
    out.push_back(kHex[b & 15]);
  }
  return out;
}

}  // namespace

std::string Sha256::hex() const { return to_hex(bytes); }

struct Sha256Stream::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr || EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
    broken("SHA-256");
}
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::update(std::string_view bytes) {
  if (!state_ || EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) broken("SHA-256");
}

Sha256 Sha256Stream::finish() {
  Sha256 out;
  if (!state_ || EVP_DigestFinal_ex(state_->context, out.bytes.data(), nullptr) != 1) broken("SHA-256");
  state_.reset();
  return out;
}

Sha256 sha256(std::string_view bytes) {
  Sha256 out;
  if (EVP_Digest(bytes.data(), bytes.size(), out.bytes.data(), nullptr, EVP_sha256(), nullptr) != 1)
    broken("SHA-256");
  return out;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 out;
  // SAFETY: char and unsigned char have the same size and alignment, and may alias.
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.bytes.data(),
           nullptr) == nullptr) {
    broken("HMAC-SHA-256");
  }
  return out;
}

}  // namespace policy
