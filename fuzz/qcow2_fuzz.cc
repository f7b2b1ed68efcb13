// The head of a disk image that a guest may have written: what is accepted names at most one file, in full.
#include <cstdint>
#include <string_view>

#include "property.h"
#include "vmware/base/qcow2_header.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  const auto header = vmware::parse_qcow2(text);
  if (!header) return 0;
  require(header->backing.size() <= 1023 && header->backing.find('\0') == std::string::npos);
  require(header->backing.empty() || text.find(header->backing) != std::string_view::npos);
  require(header->size <= std::uint64_t{64} << 40);
  // What stands behind the head changes nothing.
  require(vmware::parse_qcow2(std::string(text) + "more") == header);
  return 0;
}
