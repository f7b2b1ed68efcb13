#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace vmware {

// So many bytes at an offset of an image's file; fewer where it ends.
using ReadImage = std::function<policy::Result<std::string>(std::uint64_t offset, std::size_t bytes)>;

// Whether the tables of a qcow2 image, and the clusters they name, begin within its file: where one does not,
// the file was cut off, and a guest would find zeros or errors instead. `head` is one that parse_qcow2 took.
// The first 16 MiB of tables are looked at. Code `disk.format`.
policy::Result<> check_qcow2_tables(std::string_view head, std::uint64_t file_size, const ReadImage& read);

}  // namespace vmware
