#include "vmware/base/qcow2_tables.h"

#include "vmware/base/big_endian.h"
#include "vmware/base/qcow2_header.h"

namespace vmware {
namespace {

using policy::fail;

constexpr std::uint64_t kOffset = 0x00fffffffffffe00;  // of an entry that names a place in the file
constexpr std::uint64_t kCompressed = std::uint64_t{1} << 62;
constexpr std::size_t kMaxTable = 32 << 20;
constexpr std::size_t kMaxRead = 16 << 20;

policy::Result<> cut_off() {
  return fail("disk.format", "the image's file was cut off: it ends before what it says it holds");
}

}  // namespace

policy::Result<> check_qcow2_tables(std::string_view head, std::uint64_t file_size, const ReadImage& read) {
  const auto cluster_bits = big_endian(head, 20, 4);
  const auto cluster = std::size_t{1} << cluster_bits;
  const auto entries = big_endian(head, 36, 4);
  const auto first_at = big_endian(head, 40, 8);
  const auto counts_at = big_endian(head, 48, 8);
  const bool extended = big_endian(head, 4, 4) == 3 && (big_endian(head, 72, 8) & kQcow2ExtendedL2) != 0;
  if (entries > kMaxTable / 8) return fail("disk.format", "the image's table is larger than any disk's");
  if (counts_at >= file_size || first_at > file_size || entries * 8 > file_size - first_at) return cut_off();
  const auto first = read(first_at, static_cast<std::size_t>(entries) * 8);
  if (!first) return tl::unexpected(first.error());
  if (first->size() != entries * 8) return cut_off();

  const auto short_of = std::uint64_t{62} - (cluster_bits - 8);
  std::size_t left = kMaxRead;
  for (std::size_t i = 0; i < first->size(); i += 8) {
    const auto table_at = big_endian(*first, i, 8) & kOffset;
    if (table_at == 0) continue;
    if (table_at >= file_size || cluster > file_size - table_at) return cut_off();
    if (left < cluster) continue;
    left -= cluster;
    const auto table = read(table_at, cluster);
    if (!table) return tl::unexpected(table.error());
    if (table->size() != cluster) return cut_off();
    for (std::size_t at = 0; at + 8 <= table->size(); at += extended ? 16 : 8) {
      const auto entry = big_endian(*table, at, 8);
      const auto place =
          (entry & kCompressed) != 0 ? entry & ((std::uint64_t{1} << short_of) - 1) : entry & kOffset;
      if (place >= file_size) return cut_off();
    }
  }
  return {};
}

}  // namespace vmware
