// A VMware disk, text or sparse extent: what is accepted consists of plain files of its own folder.
#include <cstdint>
#include <string_view>

#include "property.h"
#include "vmware/base/vmdk_descriptor.h"
#include "vmware/vmx_rebuild.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  const auto text_of_disk = vmware::vmdk_descriptor_of(text);
  if (!text_of_disk) return 0;
  require(text_of_disk->size() <= vmware::kMaxVmdkDescriptor);
  const auto descriptor = vmware::parse_vmdk_descriptor(*text_of_disk);
  if (!descriptor) return 0;
  require(!descriptor->extents.empty() && !descriptor->create_type.empty());
  for (const auto& extent : descriptor->extents) {
    require(extent.file.empty() || vmware::plain_file_name(extent.file));
  }
  return 0;
}
