#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace vmware {

// One snapshot as a machine's .vmsd file tells of it.
struct SnapshotRecord {
  std::string name;
  std::string state_file;          // the .vmsn, as named
  bool with_memory = false;        // by the record itself; a .vmem file beside the state file says so too
  std::vector<std::string> disks;  // as named
  bool operator==(const SnapshotRecord&) const = default;
};

// Codes: `snapshot.records` (damaged, or more than 1,000 snapshots).
policy::Result<std::vector<SnapshotRecord>> read_snapshot_records(std::string_view vmsd);

}  // namespace vmware
