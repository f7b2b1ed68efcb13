// The head and the tables of a disk image that a guest may have written: what is accepted names at most one
// file, in full, and no place behind the file's end is read.
#include <cstdint>
#include <string_view>

#include "property.h"
#include "vmware/base/qcow2_header.h"
#include "vmware/base/qcow2_tables.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  const auto header = vmware::parse_qcow2(text);
  if (!header) return 0;
  require(header->backing.size() <= 1023 && header->backing.find('\0') == std::string::npos);
  require(header->backing.empty() || text.find(header->backing) != std::string_view::npos);
  require(header->size <= std::uint64_t{64} << 40);
  (void)vmware::check_qcow2_tables(
      text, text.size(), [&](std::uint64_t offset, std::size_t count) -> policy::Result<std::string> {
        require(offset <= text.size() && count <= text.size() - offset);
        return std::string(text.substr(offset, count));
      });
  // What stands behind the head changes nothing.
  require(vmware::parse_qcow2(std::string(text) + "more") == header);
  return 0;
}
