#include <algorithm>
#include <chrono>
#include <utility>

#include "vmware/standin/clone_records.h"
#include "vmware/standin/disk_images.h"
#include "vmware/standin/held_machine.h"
#include "vmware/standin/layers.h"
#include "vmware/standin/lock_file.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

std::uint64_t now_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

bool is_snapshot_name(const std::string& name) {
  return !name.empty() && name.size() <= 250 && is_recordable(name) && name.find('/') == std::string::npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// Everything of a snapshot but the record that makes it one.
struct Prepared {
  Snapshot snapshot;
  std::string layer;  // the new top of the disk
};

Result<Prepared> prepare(const Machine& machine, const std::string& name) {
  const auto frozen = machine.top_disk();
  if (!frozen) return tl::unexpected(frozen.error());
  const auto layer = free_layer_name(machine);
  if (!layer) return tl::unexpected(layer.error());
  if (auto made = create_layer(machine.folder() + "/" + *layer, *frozen); !made) {
    return tl::unexpected(made.error());
  }
  const SnapshotTree& tree = machine.snapshots();
  Prepared prepared;
  prepared.layer = *layer;
  prepared.snapshot.uid = tree.last_uid + 1;
  prepared.snapshot.parent = tree.current;
  prepared.snapshot.name = name;
  prepared.snapshot.disk = *frozen;
  prepared.snapshot.created_us = now_us();
  return prepared;
}

// From here on the snapshot is there, and the machine goes on above it, in the state it keeps.
Result<> commit(Machine& machine, Prepared prepared, const std::string& saved_state) {
  // A disk that somebody may still write stays writable to its owner until it counts as frozen.
  if (auto kept = make_read_only(machine.folder() + "/" + prepared.snapshot.disk); !kept) return kept;
  SnapshotTree& tree = machine.snapshots();
  const SnapshotTree before = tree;
  tree.last_uid = prepared.snapshot.uid;
  tree.current = prepared.snapshot.uid;
  tree.snapshots.push_back(std::move(prepared.snapshot));
  auto committed = machine.commit({prepared.layer, saved_state});
  if (!committed) {
    tree = before;
    (void)remove_file(machine.folder() + "/" + prepared.layer);
  }
  return committed;
}

Result<> snapshot_of_running(HeldMachine& held, const Call& call, const std::string& name) {
  const std::string stem =
      held.machine.name() + "-Snapshot" + std::to_string(held.machine.snapshots().last_uid + 1);
  const auto was_paused = is_paused(held.entry);
  if (!was_paused) return tl::unexpected(was_paused.error());
  const std::string description = stem + ".vmsn";
  const std::string memory = stem + ".vmem";
  if (auto saved = save_running(held, description, memory); !saved) return saved;
  auto prepared = prepare(held.machine, name);
  Result<> committed = prepared ? Result<>() : tl::unexpected(prepared.error());
  if (prepared) {
    prepared->snapshot.memory = description;
    committed = commit(held.machine, std::move(*prepared), description);
  }
  if (!committed) {
    abandon_save(held, description, memory);
    return committed;
  }
  // QEMU's confinement does not let it open the new layer, so another one goes on from the state just kept.
  if (auto stopped = power_off(held); !stopped) return stopped;
  unmark(held);
  LockFile::drop(held.machine);
  return power_on(held, call, *was_paused ? Processors::paused : Processors::running);
}

// The last snapshot of that name, or the error.
Result<Snapshot> snapshot_named(Machine& machine, const std::string& name) {
  const Snapshot* const found = machine.snapshots().by_name(name);
  if (found == nullptr) return fail("snapshot.absent", std::string(texts::kNoSnapshot));
  return *found;
}

}  // namespace

Result<Answer> list_snapshots(const Call& call) {
  const auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  return Answer{machine->snapshots().listing(call.line.show_tree)};
}

Result<Answer> take_snapshot(const Call& call) {
  const std::string& name = call.line.words[0];
  if (!is_snapshot_name(name)) return fail("parameter", std::string(texts::kInvalidParameter));
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  if (auto recovered = recover(*held); !recovered) return tl::unexpected(recovered.error());
  SnapshotTree& tree = held->machine.snapshots();
  if (tree.by_name(name) != nullptr) return fail("snapshot.exists", std::string(texts::kSnapshotExists));
  if (tree.snapshots.size() >= SnapshotTree::kMax) {
    return fail("snapshot.limit", std::string(texts::kUnknownError));
  }
  if (held->is_on()) {
    if (auto taken = snapshot_of_running(*held, call, name); !taken) return tl::unexpected(taken.error());
    return Answer{};
  }
  if (auto settled = held->settle(); !settled) return tl::unexpected(settled.error());
  if (!held->machine.saved_state().empty()) {
    // The state of a suspended machine belongs to one disk, and would have to be in two places.
    return fail("vm.suspended", std::string(texts::kNotSupported));
  }
  auto prepared = prepare(held->machine, name);
  if (!prepared) return tl::unexpected(prepared.error());
  if (auto done = commit(held->machine, std::move(*prepared), ""); !done) return tl::unexpected(done.error());
  if (auto settled = held->settle(); !settled) return tl::unexpected(settled.error());
  return Answer{};
}

Result<Answer> revert_to_snapshot(const Call& call) {
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  const auto snapshot = snapshot_named(held->machine, call.line.words[0]);
  if (!snapshot) return tl::unexpected(snapshot.error());
  if (held->is_on()) {
    if (auto stopped = power_off(*held); !stopped) return tl::unexpected(stopped.error());
    unmark(*held);
    LockFile::drop(held->machine);
  }
  Machine& machine = held->machine;
  if (auto settled = held->settle(); !settled) return tl::unexpected(settled.error());
  const auto layer = free_layer_name(machine);
  if (!layer) return tl::unexpected(layer.error());
  if (auto made = create_layer(machine.folder() + "/" + *layer, snapshot->disk); !made) {
    return tl::unexpected(made.error());
  }
  machine.snapshots().current = snapshot->uid;
  if (auto committed = machine.commit({*layer, snapshot->memory}); !committed) {
    (void)remove_file(machine.folder() + "/" + *layer);
    return tl::unexpected(committed.error());
  }
  if (auto settled = held->settle(); !settled) return tl::unexpected(settled.error());
  collapse_removed(machine);
  sweep(machine);
  held->find_entry();
  return Answer{};
}

Result<Answer> delete_snapshot(const Call& call) {
  auto held = hold_machine(call.line.vmx);
  if (!held) return tl::unexpected(held.error());
  Machine& machine = held->machine;
  const auto snapshot = snapshot_named(machine, call.line.words[0]);
  if (!snapshot) return tl::unexpected(snapshot.error());
  SnapshotTree& tree = machine.snapshots();
  const std::vector<std::uint32_t> doomed =
      call.line.and_children ? tree.subtree(snapshot->uid) : std::vector<std::uint32_t>{snapshot->uid};
  for (const std::uint32_t uid : doomed) {
    const Snapshot* const one = tree.by_uid(uid);
    const auto clone = one != nullptr ? standing_clone(machine, *one) : std::string();
    if (!clone.empty()) return tl::unexpected(clones_error(clone));
    if (one != nullptr && !one->memory.empty() && one->memory == machine.saved_state()) {
      return fail("vm.suspended", std::string(texts::kNotSupported) + ": the machine is suspended in it");
    }
  }
  for (const std::uint32_t uid : doomed) {
    if (Snapshot* const one = tree.by_uid(uid)) {
      one->removed = true;
      one->memory.clear();
    }
  }
  if (auto saved = machine.save_snapshots(); !saved) return tl::unexpected(saved.error());
  // It is deleted. Its disk goes where that can be done: below a running machine it cannot.
  if (held->is_on()) return Answer{};
  if (auto settled = held->settle(); !settled) return tl::unexpected(settled.error());
  collapse_removed(machine);
  sweep(machine);
  held->find_entry();
  return Answer{};
}

}  // namespace standin
