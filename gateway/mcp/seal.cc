#include "gateway/mcp/seal.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <memory>

#include "policy/digest.h"
#include "policy/random.h"

namespace gateway::mcp {
namespace {

constexpr std::size_t kNonce = 12, kTag = 16;  // as the mode has them

struct Free {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Free>;

// SAFETY: char and unsigned char may stand for one another.
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

enum class Way : int { open = 0, close = 1 };

// Ready for the text: nonce and context are in. The context goes in as its digest, whatever its length.
Cipher begin(Way way, const std::array<std::uint8_t, 32>& key, std::string_view nonce,
             std::string_view context) {
  Cipher cipher(EVP_CIPHER_CTX_new());
  const auto bound = policy::sha256(context).bytes;
  int length = 0;
  if (!cipher ||
      EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), bytes_of(nonce),
                        static_cast<int>(way)) != 1 ||
      EVP_CipherUpdate(cipher.get(), nullptr, &length, bound.data(), static_cast<int>(bound.size())) != 1) {
    std::abort();  // no cipher: nothing here may go on without one
  }
  return cipher;
}

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto u = static_cast<unsigned char>(c);
    out += kDigits[u >> 4];
    out += kDigits[u & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const int high = digit(text[at]), low = digit(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

}  // namespace

Seal::Seal() { policy::random_bytes(key_); }

std::string Seal::close(std::string_view text, std::string_view context) const {
  std::array<std::uint8_t, kNonce> random;
  policy::random_bytes(random);
  const std::string nonce(random.begin(), random.end());
  const auto cipher = begin(Way::close, key_, nonce, context);
  std::string body(text.size(), '\0'), tag(kTag, '\0');
  int length = 0;
  if (EVP_CipherUpdate(cipher.get(), bytes_of(body), &length, bytes_of(text),
                       static_cast<int>(text.size())) != 1 ||
      EVP_CipherFinal_ex(cipher.get(), nullptr, &length) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTag, tag.data()) != 1) {
    std::abort();
  }
  return hex(nonce + body + tag);
}

std::optional<std::string> Seal::open(std::string_view sealed, std::string_view context) const {
  if (sealed.size() > kMaxSealedBytes) return std::nullopt;
  const auto bytes = from_hex(sealed);
  if (!bytes || bytes->size() < kNonce + kTag) return std::nullopt;
  const std::string_view all(*bytes);
  const auto body = all.substr(kNonce, all.size() - kNonce - kTag);
  std::string tag(all.substr(all.size() - kTag)), text(body.size(), '\0');
  const auto cipher = begin(Way::open, key_, all.substr(0, kNonce), context);
  int length = 0;
  if (EVP_CipherUpdate(cipher.get(), bytes_of(text), &length, bytes_of(body),
                       static_cast<int>(body.size())) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) != 1 ||
      EVP_CipherFinal_ex(cipher.get(), nullptr, &length) != 1) {
    return std::nullopt;
  }
  return text;
}

}  // namespace gateway::mcp
