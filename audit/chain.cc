#include "audit/chain.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <openssl/evp.h>

#include "policy/digest.h"

namespace audit {
namespace {

bool is_hash(std::string_view text) {
  for (const char c : text) {
    if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
  }
  return text.size() == kHashLength;
}

}  // namespace

struct Hasher::State {
  EVP_MD* digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(digest);
  }
  std::string run(std::string_view bytes, std::string_view more) {
    static constexpr char digits[] = "0123456789abcdef";
    std::array<unsigned char, 32> value{};
    if (digest == nullptr || context == nullptr || EVP_DigestInit_ex2(context, digest, nullptr) != 1 ||
        EVP_DigestUpdate(context, bytes.data(), bytes.size()) != 1 ||
        EVP_DigestUpdate(context, more.data(), more.size()) != 1 ||
        EVP_DigestFinal_ex(context, value.data(), nullptr) != 1) {
      std::fprintf(stderr, "sallyport: SHA-256 failed in the cryptographic library\n");
      std::abort();
    }
    std::string out(kHashLength, '\0');
    for (std::size_t i = 0; i < value.size(); ++i) {
      out[2 * i] = digits[value[i] >> 4];
      out[2 * i + 1] = digits[value[i] & 15];
    }
    return out;
  }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
std::string Hasher::hex(std::string_view bytes) { return state_->run(bytes, {}); }
std::string Hasher::hex_closed(std::string_view bytes) { return state_->run(bytes, "}"); }

std::string genesis(std::string_view log, std::string_view key) {
  std::string text = "sallyport audit log v1\n";
  text.append(log).append("\n").append(key).append("\n");
  return policy::sha256(text).hex();
}

bool split(std::string_view line, Sealed& out) {
  constexpr std::size_t front = kPrevStart.size() + kHashLength;
  constexpr std::size_t back = kHashStart.size() + kHashLength + 2;  // and `"}`
  if (line.size() < front + 1 + back || !line.starts_with(kPrevStart) || line[front] != '"') return false;
  const auto end = line.substr(line.size() - back);
  if (!end.starts_with(kHashStart) || !end.ends_with("\"}")) return false;
  out.prev = line.substr(kPrevStart.size(), kHashLength);
  out.hash = end.substr(kHashStart.size(), kHashLength);
  out.body = line.substr(0, line.size() - back);
  return is_hash(out.prev) && is_hash(out.hash);
}

}  // namespace audit
