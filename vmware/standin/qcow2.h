#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace standin {

// The length of a qcow2 header's fixed part (QEMU docs/interop/qcow2.txt).
inline constexpr std::size_t kQcow2Head = 72;

// The size of the disk in a qcow2 image, in bytes, from the head of the file; nothing if it is no such image
// or larger than 64 TiB.
std::optional<std::uint64_t> qcow2_size(std::string_view head);

}  // namespace standin
