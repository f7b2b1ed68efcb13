#include "vmware/base/snapshot_records.h"

#include <charconv>
#include <optional>

#include "vmware/vmx.h"

namespace vmware {
namespace {

constexpr int kMaxSnapshots = 1000;
constexpr int kMaxDisks = 100;

policy::Error damaged() {
  return {"snapshot.records", "the machine's list of snapshots (its .vmsd file) is damaged"};
}

std::optional<int> count(const Vmx& records, const std::string& key, int most) {
  const auto text = records.get_or(key, "0");
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0 || number > most) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

policy::Result<std::vector<SnapshotRecord>> read_snapshot_records(std::string_view vmsd) {
  // VMware's own reading: the file is never given back to VMware, so a line more than we know does no harm.
  const auto records = Vmx::parse_lenient(vmsd);
  if (!records) return tl::unexpected(damaged());
  const auto many = count(*records, "snapshot.numSnapshots", kMaxSnapshots);
  if (!many) return tl::unexpected(damaged());
  std::vector<SnapshotRecord> made;
  for (int i = 0; i < *many; ++i) {
    const std::string own = "snapshot" + std::to_string(i) + ".";
    const auto name = records->get(own + "displayName");
    const auto disks = count(*records, own + "numDisks", kMaxDisks);
    if (!name || !disks) return tl::unexpected(damaged());
    SnapshotRecord record;
    record.name = std::string(*name);
    record.state_file = records->get_or(own + "filename", "");
    record.with_memory = records->get_or(own + "type", "0") != "0";
    for (int disk = 0; disk < *disks; ++disk) {
      const auto file = records->get(own + "disk" + std::to_string(disk) + ".fileName");
      if (!file) return tl::unexpected(damaged());
      record.disks.emplace_back(*file);
    }
    made.push_back(std::move(record));
  }
  return made;
}

}  // namespace vmware
