#include "vmware/standin/qcow2.h"

namespace standin {
namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

std::optional<std::uint64_t> qcow2_size(std::string_view head) {
  constexpr std::uint64_t kMax = std::uint64_t{64} << 40;
  if (head.size() < kQcow2Head || head.substr(0, 4) != "QFI\xfb") return std::nullopt;
  const std::uint64_t version = big_endian(head.substr(4, 4));
  const std::uint64_t size = big_endian(head.substr(24, 8));
  if ((version != 2 && version != 3) || size > kMax) return std::nullopt;
  return size;
}

}  // namespace standin
