#include "vmware/standin/credential.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace standin {
namespace {

using policy::fail;

constexpr unsigned kRounds = 50000;
constexpr unsigned kMaxRounds = 10000000;
constexpr std::size_t kSaltSize = 16;
constexpr std::size_t kKeySize = 32;
constexpr std::string_view kScheme = "pbkdf2-sha256";

// SAFETY: char and unsigned char may alias.
unsigned char* octets(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

std::string derive(std::string_view password, std::string_view salt, unsigned rounds) {
  std::string key(kKeySize, '\0');
  const int done = PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), octets(salt),
                                     static_cast<int>(salt.size()), static_cast<int>(rounds), EVP_sha256(),
                                     static_cast<int>(kKeySize), octets(key));
  return done == 1 ? key : std::string();
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return hex;
}

std::optional<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

}  // namespace

bool is_user_name(std::string_view name) {
  if (name.empty() || name.size() > 32 || name.front() == '-') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
}

Credential::Credential(std::string user, unsigned rounds, std::string salt, std::string key)
    : user_(std::move(user)), rounds_(rounds), salt_(std::move(salt)), key_(std::move(key)) {}

Result<Credential> Credential::parse(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  std::vector<std::string_view> parts;
  while (parts.size() < 5) {
    const std::size_t colon = line.find(':');
    parts.push_back(line.substr(0, colon));
    if (colon == std::string_view::npos) break;
    line.remove_prefix(colon + 1);
  }
  if (parts.size() != 5 || parts[1] != kScheme || !is_user_name(parts[0])) {
    return fail("credential", "not a credential line");
  }
  unsigned rounds = 0;
  const auto [end, error] = std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), rounds);
  auto salt = from_hex(parts[3]);
  auto key = from_hex(parts[4]);
  if (error != std::errc() || end != parts[2].data() + parts[2].size() || rounds == 0 ||
      rounds > kMaxRounds || !salt || salt->size() != kSaltSize || !key || key->size() != kKeySize) {
    return fail("credential", "damaged credential line");
  }
  return Credential(std::string(parts[0]), rounds, std::move(*salt), std::move(*key));
}

Result<Credential> Credential::make(std::string_view user, std::string_view password) {
  if (!is_user_name(user)) return fail("credential", "not a user name");
  if (password.empty() || password.size() > 256)
    return fail("credential", "a password has 1 to 256 characters");
  std::string salt(kSaltSize, '\0');
  if (RAND_bytes(octets(salt), static_cast<int>(salt.size())) != 1)
    return fail("credential", "no randomness");
  std::string key = derive(password, salt, kRounds);
  if (key.empty()) return fail("credential", "cannot derive a key");
  return Credential(std::string(user), kRounds, std::move(salt), std::move(key));
}

std::string Credential::write() const {
  return user_ + ":" + std::string(kScheme) + ":" + std::to_string(rounds_) + ":" + to_hex(salt_) + ":" +
         to_hex(key_) + "\n";
}

bool Credential::admits(std::string_view user, std::string_view password) const {
  const std::string key = derive(password, salt_, rounds_);
  // The names are compared over a fixed length, padded, so that the time says nothing about them.
  std::string mine(256, '\0'), theirs(256, '\0');
  mine.replace(0, user_.size(), user_);
  theirs.replace(0, std::min<std::size_t>(user.size(), 256), user.substr(0, 256));
  const int user_differs = CRYPTO_memcmp(mine.data(), theirs.data(), mine.size());
  const int key_differs = key.size() == key_.size() ? CRYPTO_memcmp(key.data(), key_.data(), key_.size()) : 1;
  return (user_differs | key_differs) == 0 && user.size() <= 256;
}

}  // namespace standin
