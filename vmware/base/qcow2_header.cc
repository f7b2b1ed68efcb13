#include "vmware/base/qcow2_header.h"

#include "vmware/base/big_endian.h"

namespace vmware {
namespace {

using policy::fail;

constexpr std::size_t kHeadV2 = 72;
constexpr std::size_t kHeadV3 = 104;
constexpr std::uint64_t kMaxSize = std::uint64_t{64} << 40;
constexpr std::size_t kMaxBackingName = 1023;
constexpr int kMaxExtensions = 64;

constexpr std::uint64_t kDirty = 1;
constexpr std::uint64_t kCorrupt = 2;
constexpr std::uint64_t kExternalData = 4;
constexpr std::uint64_t kCompression = 8;

constexpr std::uint64_t kEndOfExtensions = 0;
constexpr std::uint64_t kBackingFormat = 0xE2792ACA;
constexpr std::uint64_t kEncryption = 0x0537BE77;
constexpr std::uint64_t kDataFileName = 0x44415441;

policy::Result<> read_extensions(std::string_view head, std::size_t at, Qcow2Header& into) {
  for (int i = 0; i < kMaxExtensions; ++i) {
    if (head.size() < 8 || at > head.size() - 8) return fail("disk.format", "the image's head is cut off");
    const auto type = big_endian(head, at, 4);
    const auto length = static_cast<std::size_t>(big_endian(head, at + 4, 4));
    at += 8;
    if (type == kEndOfExtensions) return {};
    if (length > head.size() - at) return fail("disk.format", "the image's head is cut off");
    if (type == kEncryption) return fail("disk.encrypted", "the image is encrypted");
    if (type == kDataFileName) return fail("disk.elsewhere", "the image's bytes are in another file");
    if (type == kBackingFormat) into.backing_format = std::string(head.substr(at, length));
    at += (length + 7) / 8 * 8;
  }
  return fail("disk.format", "the image's head has too many parts");
}

}  // namespace

policy::Result<Qcow2Header> parse_qcow2(std::string_view head) {
  if (head.size() < kHeadV2 || head.substr(0, 4) != "QFI\xfb") {
    return fail("disk.format", "not a qcow2 image");
  }
  const auto version = big_endian(head, 4, 4);
  const auto cluster_bits = big_endian(head, 20, 4);
  if ((version != 2 && version != 3) || cluster_bits < 9 || cluster_bits > 21) {
    return fail("disk.format", "not a qcow2 image of version 2 or 3");
  }
  Qcow2Header made;
  made.size = big_endian(head, 24, 8);
  if (made.size > kMaxSize) return fail("disk.format", "the image claims a size no disk has");
  if (big_endian(head, 32, 4) != 0) return fail("disk.encrypted", "the image is encrypted");

  std::size_t extensions = kHeadV2;
  if (version == 3) {
    if (head.size() < kHeadV3) return fail("disk.format", "the image's head is cut off");
    const auto features = big_endian(head, 72, 8);
    if ((features & kExternalData) != 0) {
      return fail("disk.elsewhere", "the image's bytes are in another file");
    }
    if ((features & kCorrupt) != 0) return fail("disk.format", "the image is marked as damaged");
    if ((features & ~(kDirty | kCompression | kQcow2ExtendedL2)) != 0) {
      return fail("disk.feature", "the image has a feature that is not known here");
    }
    extensions = static_cast<std::size_t>(big_endian(head, 100, 4));
    if (extensions < kHeadV3 || extensions % 8 != 0)
      return fail("disk.format", "the image's head is damaged");
  }

  const auto backing_at = big_endian(head, 8, 8);
  const auto backing_length = static_cast<std::size_t>(big_endian(head, 16, 4));
  if (backing_at != 0) {
    if (backing_length == 0 || backing_length > kMaxBackingName || backing_at > head.size() ||
        backing_length > head.size() - static_cast<std::size_t>(backing_at)) {
      return fail("disk.format", "the name of the image's lower layer is cut off");
    }
    made.backing = std::string(head.substr(static_cast<std::size_t>(backing_at), backing_length));
    if (made.backing.find('\0') != std::string::npos) {
      return fail("disk.format", "the name of the image's lower layer holds a NUL");
    }
  }
  if (auto read = read_extensions(head, extensions, made); !read) return tl::unexpected(read.error());
  return made;
}

}  // namespace vmware
