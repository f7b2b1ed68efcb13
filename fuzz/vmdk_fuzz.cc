// A VMware disk, text or sparse extent: what is accepted consists of plain files of its own folder.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vmware/base/vmdk_descriptor.h"
#include "vmware/vmx_rebuild.h"

namespace {
void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // SAFETY: unsigned char may be read as char.
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
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
