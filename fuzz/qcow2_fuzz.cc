// The head of a disk image that a guest may have written: what is accepted names at most one file, in full.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vmware/base/qcow2_header.h"

namespace {
void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // SAFETY: unsigned char may be read as char.
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto header = vmware::parse_qcow2(text);
  if (!header) return 0;
  require(header->backing.size() <= 1023 && header->backing.find('\0') == std::string::npos);
  require(header->backing.empty() || text.find(header->backing) != std::string_view::npos);
  require(header->size <= std::uint64_t{64} << 40);
  // What stands behind the head changes nothing.
  require(vmware::parse_qcow2(std::string(text) + "more") == header);
  return 0;
}
