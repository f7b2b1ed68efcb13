#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace standin {

// As much of a qcow2 image as is looked at: the header of version 2 and the incompatible features of version
// 3 (QEMU docs/interop/qcow2.txt).
inline constexpr std::size_t kQcow2Head = 80;

// The size of the disk in a qcow2 image, in bytes, from the head of the file; nothing if it is no such image
// or larger than 64 TiB.
std::optional<std::uint64_t> qcow2_size(std::string_view head);

// Whether it is such an image, keeps its data in itself, is not encrypted, and uses no feature that is
// unknown here. What is below it its header may still name; that is for whoever opens it not to believe.
bool qcow2_stands_alone(std::string_view head);

}  // namespace standin
