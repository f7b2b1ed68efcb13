#include "vmware/standin/clone_records.h"

#include <algorithm>
#include <vector>

#include "vmware/standin/texts.h"

namespace standin {
namespace {

constexpr std::size_t kMaxRecords = 1 << 20;

// Its records are there and it has no .vmx: whoever made it was killed before it was a machine.
bool was_never_finished(const Machine& parent, const std::string& clone) {
  if (exists(clone) || !clone.ends_with(".vmx")) return false;
  return are_of_clone(clone.substr(0, clone.size() - 4) + ".vmsd", parent);
}

}  // namespace

bool are_of_clone(const std::string& path, const Machine& parent) {
  const auto text = read_small_file(path, kMaxRecords);
  const auto tree = text ? SnapshotTree::parse(*text) : Result<SnapshotTree>(policy::fail("vmsd", "none"));
  return tree && tree->origin && tree->origin->vmx == parent.path();
}

std::string standing_clone(const Machine& parent, const Snapshot& snapshot) {
  for (const std::string& clone : snapshot.clones) {
    if (!was_never_finished(parent, clone)) return clone;
  }
  return {};
}

policy::Error clones_error(const std::string& clone) {
  return {"snapshot.clones",
          std::string(texts::kNotSupported) + ": it has clones, one made as `" + clone +
              "`; delete them with deleteVM (one that was moved where it was made, one that was removed by "
              "hand by taking its line out of the .vmsd)"};
}

void drop_oldest_absent(Snapshot& snapshot) {
  const auto is_absent = [](const std::string& clone) { return !exists(clone); };
  auto absent =
      static_cast<std::size_t>(std::count_if(snapshot.clones.begin(), snapshot.clones.end(), is_absent));
  std::erase_if(snapshot.clones, [&](const std::string& clone) {
    if (absent <= kMostAbsent || !is_absent(clone)) return false;
    --absent;
    return true;
  });
}

void forget_clone(const Machine& clone) {
  const auto& origin = clone.snapshots().origin;
  if (!origin) return;
  const std::string folder = folder_of(origin->vmx);
  Result<Fd> lock = Fd();
  if (folder != clone.folder()) lock = lock_folder(folder);
  if (!lock) return;
  auto parent = Machine::open(origin->vmx);
  if (!parent) return;
  for (Snapshot& snapshot : parent->snapshots().snapshots) std::erase(snapshot.clones, clone.path());
  (void)parent->save_snapshots();
}

}  // namespace standin
