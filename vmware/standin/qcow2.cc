#include "vmware/standin/qcow2.h"

namespace standin {
namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

constexpr std::size_t kFeatures = 72;
constexpr std::size_t kFeaturesEnd = 80;

}  // namespace

std::optional<std::uint64_t> qcow2_size(std::string_view head) {
  constexpr std::uint64_t kMax = std::uint64_t{64} << 40;
  if (head.size() < kQcow2Head || head.substr(0, 4) != "QFI\xfb") return std::nullopt;
  const std::uint64_t version = big_endian(head.substr(4, 4));
  const std::uint64_t size = big_endian(head.substr(24, 8));
  if ((version != 2 && version != 3) || size > kMax) return std::nullopt;
  return size;
}

bool qcow2_stands_alone(std::string_view head) {
  if (!qcow2_size(head)) return false;
  if (big_endian(head.substr(32, 4)) != 0) return false;  // encryption
  if (big_endian(head.substr(4, 4)) == 2) return true;
  if (head.size() < kFeaturesEnd) return false;
  // Of the incompatible features: dirty, and compression type; not corrupt (2), external data (4), or more.
  constexpr std::uint64_t kHarmless = 1 | 8;
  return (big_endian(head.substr(kFeatures, 8)) & ~kHarmless) == 0;
}

}  // namespace standin
