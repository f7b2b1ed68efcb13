// .vmx text from a base machine or a clone: strict reading survives a round trip, and agrees with VMware's
// reading.
#include <cstdint>
#include <string_view>

#include "property.h"
#include "vmware/vmx.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  const auto lenient = vmware::Vmx::parse_lenient(text);
  const auto strict = vmware::Vmx::parse(text);
  if (!strict) return 0;
  require(lenient && *lenient == *strict);

  const std::string written = strict->write();
  const auto again = vmware::Vmx::parse(written);
  require(again && *again == *strict);
  require(again->write() == written);
  vmware::Vmx copy;
  for (const auto& entry : strict->entries()) require(copy.set(entry.key, entry.value).has_value());
  require(copy == *strict);
  return 0;
}
