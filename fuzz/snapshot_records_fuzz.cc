// A machine's list of snapshots: bounded, and every snapshot has its name and its disks.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vmware/base/snapshot_records.h"

namespace {
void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // SAFETY: unsigned char may be read as char.
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto records = vmware::read_snapshot_records(text);
  if (!records) return 0;
  require(records->size() <= 1000);
  for (const auto& record : *records) require(record.disks.size() <= 100);
  return 0;
}
