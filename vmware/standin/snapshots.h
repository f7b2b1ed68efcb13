#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace standin {

using policy::Result;

struct Snapshot {
  std::uint32_t uid = 0;
  std::uint32_t parent = 0;  // uid of the snapshot it was taken on; 0 for a root
  std::string name;
  std::string disk;              // plain file name, beside the .vmx; read only since the snapshot was taken
  std::uint64_t created_us = 0;  // since 1970
  std::vector<std::string> clones;  // absolute .vmx paths
  // Plain name of the description of what the machine was doing; empty when it was off.
  std::string memory = {};
  // Deleted, but other layers still stand on its disk: not listed, not found by name.
  bool removed = false;
  bool operator==(const Snapshot&) const = default;
};

// Where a linked clone continues: a snapshot of another machine.
struct CloneOrigin {
  std::string vmx;  // absolute
  std::uint32_t snapshot = 0;
  bool operator==(const CloneOrigin&) const = default;
};

// What the .vmx is to say and perhaps does not yet. Two files cannot change at one moment: the .vmsd changes
// first, with this in it, and from then on it counts.
struct PendingChange {
  std::string disk;         // scsi0:0.fileName
  std::string saved_state;  // checkpoint.vmState; empty: none
  bool operator==(const PendingChange&) const = default;
};

// A .vmsd file: the snapshots of a machine and its place in a chain of clones. VMware's keys, and
// `qemu.cloneOf.snapshot` for the uid in the origin, `snapshotN.qemu.removed` and `qemu.pending.*`.
struct SnapshotTree {
  std::uint32_t last_uid = 0;
  std::uint32_t current = 0;  // 0 when there is none
  std::vector<Snapshot> snapshots;
  std::optional<CloneOrigin> origin;
  std::optional<PendingChange> pending;

  static constexpr std::size_t kMax = 1000;
  static constexpr std::size_t kMaxClones = 4000;

  // An empty text is a machine without snapshots. Codes: `vmsd` for anything damaged.
  static Result<SnapshotTree> parse(std::string_view bytes);
  std::string write(std::string_view machine_name) const;

  const Snapshot* by_uid(std::uint32_t uid) const;
  Snapshot* by_uid(std::uint32_t uid);
  // The first with that name, as VMware takes it.
  Snapshot* by_name(std::string_view name);
  // `Total snapshots: N` and the names; with `tree` children stand one TAB deeper than their parent.
  std::string listing(bool tree) const;
  // From the current snapshot to its root. Fails (`vmsd`) on a parent that is missing or a cycle.
  Result<std::vector<const Snapshot*>> chain(std::uint32_t from) const;

  // The snapshot and everything below it.
  std::vector<std::uint32_t> subtree(std::uint32_t root) const;
  void erase(std::uint32_t uid);

  bool operator==(const SnapshotTree&) const = default;
};

// Whether a .vmsd or .vmx can hold this text: UTF-8, no control characters, not too long.
bool is_recordable(std::string_view text);

// A file name with no folder in it, safe to open beside a .vmx.
bool is_plain_name(std::string_view name);

}  // namespace standin
