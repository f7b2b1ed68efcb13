#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace vmware {

// A VMware disk's descriptor: the text that says which files a disk consists of (VMware, "Virtual Disk Format
// 1.1"). Whoever made the base may have written all of it.
struct VmdkDescriptor {
  struct Extent {
    std::string file;  // as named; empty for an extent of zeros
    bool operator==(const Extent&) const = default;
  };
  std::string create_type;
  std::vector<Extent> extents;
  std::string parent;  // `parentFileNameHint`; empty when the disk has none
  bool operator==(const VmdkDescriptor&) const = default;
};

inline constexpr std::size_t kMaxVmdkDescriptor = 64 << 10;
// Enough of a file for vmdk_descriptor_of.
inline constexpr std::size_t kVmdkHead = 1 << 20;

// The descriptor in a .vmdk file of which `head` is the first kVmdkHead bytes: the file itself when it is
// text, or what a sparse extent carries behind its header; empty when a sparse extent carries none, as those
// do that a descriptor names. Codes: `disk.format`.
policy::Result<std::string> vmdk_descriptor_of(std::string_view head);

// Only disks whose every byte is in plain files of the same folder: whole physical disks, partitions, device
// mappings and kinds not known here are refused (`disk.raw`). Other codes: `disk.format`, `disk.elsewhere`
// (an extent that is not a plain name in the disk's folder), `disk.encrypted`.
policy::Result<VmdkDescriptor> parse_vmdk_descriptor(std::string_view text);

}  // namespace vmware
