#include "vmware/standin/snapshots.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "vmware/vmx.h"

namespace standin {
namespace {

using policy::fail;
using vmware::Vmx;

template <class Number>
std::optional<Number> number(const Vmx& file, const std::string& key) {
  const auto text = file.get(key);
  if (!text) return std::nullopt;
  Number value{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

Result<Snapshot> read_snapshot(const Vmx& file, const std::string& prefix) {
  Snapshot snapshot;
  snapshot.uid = number<std::uint32_t>(file, prefix + "uid").value_or(0);
  snapshot.parent = number<std::uint32_t>(file, prefix + "parent").value_or(0);
  snapshot.name = file.get_or(prefix + "displayName", "");
  snapshot.disk = file.get_or(prefix + "disk0.fileName", "");
  snapshot.removed = file.is_true(prefix + "qemu.removed");
  if (number<int>(file, prefix + "type").value_or(0) != 0) {
    snapshot.memory = file.get_or(prefix + "filename", "");
    if (!is_plain_name(snapshot.memory)) return fail("vmsd", "damaged snapshot record");
  }
  const auto high = number<std::int64_t>(file, prefix + "createTimeHigh").value_or(0);
  const auto low = number<std::int64_t>(file, prefix + "createTimeLow").value_or(0);
  snapshot.created_us =
      static_cast<std::uint64_t>(high) << 32 | (static_cast<std::uint64_t>(low) & 0xffffffffU);
  if (snapshot.uid == 0 || snapshot.name.empty() || !is_plain_name(snapshot.disk)) {
    return fail("vmsd", "damaged snapshot record");
  }
  const auto clones = number<std::size_t>(file, prefix + "numClones").value_or(0);
  if (clones > SnapshotTree::kMaxClones) return fail("vmsd", "too many clones");
  for (std::size_t i = 0; i < clones; ++i) {
    if (const auto path = file.get(prefix + "clone" + std::to_string(i))) snapshot.clones.emplace_back(*path);
  }
  return snapshot;
}

}  // namespace

bool is_recordable(std::string_view text) { return Vmx().set("text", text).has_value(); }

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > 200 || name.front() == '.') return false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '\\' || byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

Result<SnapshotTree> SnapshotTree::parse(std::string_view bytes) {
  const auto file = Vmx::parse_lenient(bytes);
  if (!file) return tl::unexpected(file.error());
  SnapshotTree tree;
  tree.last_uid = number<std::uint32_t>(*file, "snapshot.lastUID").value_or(0);
  tree.current = number<std::uint32_t>(*file, "snapshot.current").value_or(0);
  const auto count = number<std::size_t>(*file, "snapshot.numSnapshots").value_or(0);
  if (count > kMax) return fail("vmsd", "too many snapshots");
  for (std::size_t i = 0; i < count; ++i) {
    auto snapshot = read_snapshot(*file, "snapshot" + std::to_string(i) + ".");
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (tree.by_uid(snapshot->uid) != nullptr) return fail("vmsd", "two snapshots with one uid");
    tree.snapshots.push_back(std::move(*snapshot));
  }
  if (const auto origin = file->get("cloneOf0")) {
    const auto uid = number<std::uint32_t>(*file, "qemu.cloneOf.snapshot");
    if (!uid || *uid == 0 || !origin->starts_with("/")) return fail("vmsd", "damaged clone record");
    tree.origin = CloneOrigin{std::string(*origin), *uid};
  }
  if (const auto disk = file->get("qemu.pending.disk")) {
    tree.pending = PendingChange{std::string(*disk), file->get_or("qemu.pending.vmState", "")};
    if (!is_plain_name(tree.pending->disk) ||
        (!tree.pending->saved_state.empty() && !is_plain_name(tree.pending->saved_state))) {
      return fail("vmsd", "damaged record of a change");
    }
  }
  if (tree.current != 0 && tree.by_uid(tree.current) == nullptr) return fail("vmsd", "no current snapshot");
  return tree;
}

std::string SnapshotTree::write(std::string_view machine_name) const {
  Vmx file;
  const auto put = [&file](const std::string& key, const std::string& value) {
    // Every value here was read from such a file or checked before; a refusal would lose a record, so it
    // shows.
    if (!file.set(key, value)) (void)file.set(key, "?");
  };
  put("snapshot.lastUID", std::to_string(last_uid));
  put("snapshot.numSnapshots", std::to_string(snapshots.size()));
  if (current != 0) put("snapshot.current", std::to_string(current));
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const Snapshot& snapshot = snapshots[i];
    const std::string prefix = "snapshot" + std::to_string(i) + ".";
    put(prefix + "uid", std::to_string(snapshot.uid));
    put(prefix + "filename", snapshot.memory.empty() ? std::string(machine_name) + "-Snapshot" +
                                                           std::to_string(snapshot.uid) + ".vmsn"
                                                     : snapshot.memory);
    if (!snapshot.memory.empty()) put(prefix + "type", "1");
    if (snapshot.removed) put(prefix + "qemu.removed", "TRUE");
    if (snapshot.parent != 0) put(prefix + "parent", std::to_string(snapshot.parent));
    put(prefix + "displayName", snapshot.name);
    put(prefix + "createTimeHigh", std::to_string(snapshot.created_us >> 32));
    put(prefix + "createTimeLow",
        std::to_string(static_cast<std::int32_t>(snapshot.created_us & 0xffffffffU)));
    put(prefix + "numDisks", "1");
    put(prefix + "disk0.fileName", snapshot.disk);
    put(prefix + "disk0.node", "scsi0:0");
    if (!snapshot.clones.empty()) put(prefix + "numClones", std::to_string(snapshot.clones.size()));
    for (std::size_t c = 0; c < snapshot.clones.size(); ++c) {
      put(prefix + "clone" + std::to_string(c), snapshot.clones[c]);
    }
  }
  if (origin) {
    put("numCloneOf", "1");
    put("cloneOf0", origin->vmx);
    put("qemu.cloneOf.snapshot", std::to_string(origin->snapshot));
  }
  if (pending) {
    put("qemu.pending.disk", pending->disk);
    if (!pending->saved_state.empty()) put("qemu.pending.vmState", pending->saved_state);
  }
  return file.write();
}

const Snapshot* SnapshotTree::by_uid(std::uint32_t uid) const {
  for (const Snapshot& snapshot : snapshots) {
    if (snapshot.uid == uid) return &snapshot;
  }
  return nullptr;
}

Snapshot* SnapshotTree::by_uid(std::uint32_t uid) {
  for (Snapshot& snapshot : snapshots) {
    if (snapshot.uid == uid) return &snapshot;
  }
  return nullptr;
}

Snapshot* SnapshotTree::by_name(std::string_view name) {
  for (Snapshot& snapshot : snapshots) {
    if (snapshot.name == name && !snapshot.removed) return &snapshot;
  }
  return nullptr;
}

std::vector<std::uint32_t> SnapshotTree::subtree(std::uint32_t root) const {
  std::vector<std::uint32_t> found{root};
  for (std::size_t at = 0; at < found.size() && found.size() <= snapshots.size(); ++at) {
    for (const Snapshot& snapshot : snapshots) {
      if (snapshot.parent == found[at] && snapshot.uid != root) found.push_back(snapshot.uid);
    }
  }
  return found;
}

void SnapshotTree::erase(std::uint32_t uid) {
  std::erase_if(snapshots, [uid](const Snapshot& snapshot) { return snapshot.uid == uid; });
}

std::string SnapshotTree::listing(bool tree) const {
  const auto count = std::count_if(snapshots.begin(), snapshots.end(),
                                   [](const Snapshot& snapshot) { return !snapshot.removed; });
  std::string text = "Total snapshots: " + std::to_string(count) + "\n";
  if (!tree) {
    for (const Snapshot& snapshot : snapshots) {
      if (!snapshot.removed) text += snapshot.name + "\n";
    }
    return text;
  }
  const std::function<void(std::uint32_t, std::size_t, std::size_t)> walk =
      [&](std::uint32_t parent, std::size_t tabs, std::size_t depth) {
        if (depth > kMax) return;
        for (const Snapshot& snapshot : snapshots) {
          if (snapshot.parent != parent || snapshot.uid == parent) continue;
          if (!snapshot.removed) text += std::string(tabs, '\t') + snapshot.name + "\n";
          walk(snapshot.uid, tabs + (snapshot.removed ? 0 : 1), depth + 1);
        }
      };
  walk(0, 0, 0);
  return text;
}

Result<std::vector<const Snapshot*>> SnapshotTree::chain(std::uint32_t from) const {
  std::vector<const Snapshot*> found;
  while (from != 0) {
    const Snapshot* snapshot = by_uid(from);
    if (snapshot == nullptr || found.size() > snapshots.size())
      return fail("vmsd", "broken chain of snapshots");
    found.push_back(snapshot);
    from = snapshot->parent;
  }
  return found;
}

}  // namespace standin
