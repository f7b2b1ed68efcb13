#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace vmware {

// What the head of a qcow2 image says (QEMU, docs/interop/qcow2). A guest may have written all of it.
struct Qcow2Header {
  std::uint64_t size = 0;      // of the disk, bytes
  std::string backing;         // the layer below as the header names it; empty: none
  std::string backing_format;  // empty: not said, and QEMU would guess it from the bytes
  bool operator==(const Qcow2Header&) const = default;
};

// A bit of the header's incompatible features: entries of the second tables are twice as long.
inline constexpr std::uint64_t kQcow2ExtendedL2 = 16;

// Enough of an image for parse_qcow2, whatever its cluster size: names behind that are refused.
inline constexpr std::size_t kQcow2Head = 64 << 10;

// `head`: the first kQcow2Head bytes of the image, or all of it. Codes: `disk.format` (not a qcow2 image, or
// damaged), `disk.encrypted`, `disk.elsewhere` (its bytes are in another file), `disk.feature` (one that is
// not known here, so that what it means is not either).
policy::Result<Qcow2Header> parse_qcow2(std::string_view head);

}  // namespace vmware
