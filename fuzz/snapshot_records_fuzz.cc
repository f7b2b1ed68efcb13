// A machine's list of snapshots: bounded, and every snapshot has its name and its disks.
#include <cstdint>
#include <string_view>

#include "property.h"
#include "vmware/base/snapshot_records.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  const auto records = vmware::read_snapshot_records(text);
  if (!records) return 0;
  require(records->size() <= 1000);
  for (const auto& record : *records) require(record.disks.size() <= 100);
  return 0;
}
