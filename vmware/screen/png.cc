#include "vmware/screen/png.h"

#include <cstdint>

namespace vmware {
namespace {

constexpr std::string_view kHead("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 16);  // signature, first chunk's head
constexpr std::string_view kTail("\0\0\0\0IEND\xae\x42\x60\x82", 12);     // last chunk
constexpr std::uint32_t kMaxSide = 16384;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

}  // namespace

policy::Result<> check_png(std::string_view bytes) {
  const auto refuse = [] {
    return policy::fail("screenshot.damaged", "what was captured is not a whole PNG picture; try again");
  };
  if (bytes.size() > kMaxPng || bytes.size() < kHead.size() + 17 + kTail.size()) return refuse();
  if (!bytes.starts_with(kHead) || !bytes.ends_with(kTail)) return refuse();
  const auto width = big_endian(bytes.substr(kHead.size()));
  const auto height = big_endian(bytes.substr(kHead.size() + 4));
  if (width == 0 || height == 0 || width > kMaxSide || height > kMaxSide) return refuse();
  return {};
}

}  // namespace vmware
