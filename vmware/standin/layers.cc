#include "vmware/standin/layers.h"

#include <algorithm>
#include <set>

#include "vmware/standin/disk_images.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kMaxNames = 10000;

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether a file is one that only this program makes, for a machine of that name, going by its own name.
bool is_made_for(std::string_view file, const std::string& machine) {
  if (!file.starts_with(machine)) return false;
  std::string_view rest = file.substr(machine.size());
  // Unfinished: `.part`, or what `write_file_atomically` leaves when it is killed, `.vmrun-` and six
  // characters.
  constexpr std::string_view kInTheMaking = ".vmrun-";
  constexpr std::size_t kEnding = kInTheMaking.size() + 6;
  const std::size_t whole = rest.size();
  if (rest.ends_with(".part")) {
    rest.remove_suffix(5);
  } else if (rest.size() > kEnding && rest.substr(rest.size() - kEnding).starts_with(kInTheMaking)) {
    rest.remove_suffix(kEnding);
  }
  const bool unfinished = rest.size() != whole;
  if (unfinished && (rest == ".vmx" || rest == ".vmsd" || rest == ".qcow2")) return true;
  if (rest == ".vmss" || rest == ".vmem") return true;
  if (rest.size() == 13 && rest.starts_with("-") && rest.ends_with(".qcow2"))
    return all_digits(rest.substr(1, 6));
  constexpr std::string_view kSnapshot = "-Snapshot";
  if (!rest.starts_with(kSnapshot) || !(rest.ends_with(".vmsn") || rest.ends_with(".vmem"))) return false;
  rest.remove_prefix(kSnapshot.size());
  return all_digits(rest.substr(0, rest.size() - 5));
}

// `a` and `a-000001` in one folder could not be told apart.
bool is_alone(const Machine& machine, const std::vector<std::string>& names) {
  return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.ends_with(".vmx") && name != machine.name() + ".vmx" && name.starts_with(machine.name());
  });
}

// What stands on a removed snapshot: snapshots, by uid, and 0 for the machine's present disk.
std::vector<std::uint32_t> dependents_of(const SnapshotTree& tree, std::uint32_t uid) {
  std::vector<std::uint32_t> found;
  for (const Snapshot& snapshot : tree.snapshots) {
    if (snapshot.parent == uid) found.push_back(snapshot.uid);
  }
  if (tree.current == uid) found.push_back(0);
  return found;
}

Result<> merge_into(Machine& machine, Snapshot removed, std::uint32_t dependent) {
  const auto layers = dependent == 0 ? machine.disk_layers() : machine.layers_of(dependent);
  if (!layers) return tl::unexpected(layers.error());
  if (layers->size() < 2 || (*layers)[1] != machine.folder() + "/" + removed.disk) {
    return fail("vmsd", "the layer is not where the records say");
  }
  if (auto merged = merge_down(*layers); !merged) return merged;
  SnapshotTree& tree = machine.snapshots();
  if (dependent == 0) {
    tree.current = removed.parent;
    tree.erase(removed.uid);
    if (auto committed = machine.commit({removed.disk, machine.saved_state()}); !committed) return committed;
    if (auto settled = machine.settle(); !settled) return settled;
  } else {
    if (auto frozen = make_read_only((*layers)[1]); !frozen) return frozen;
    if (Snapshot* const child = tree.by_uid(dependent)) {
      child->disk = removed.disk;
      child->parent = removed.parent;
    }
    tree.erase(removed.uid);
    if (auto saved = machine.save_snapshots(); !saved) return saved;
  }
  (void)remove_file((*layers)[0]);
  return {};
}

// One step; false when there is nothing more to do.
bool collapse_one(Machine& machine, std::set<std::uint32_t>& tried) {
  SnapshotTree& tree = machine.snapshots();
  for (const Snapshot& snapshot : tree.snapshots) {
    if (!snapshot.removed || tried.contains(snapshot.uid)) continue;
    const Snapshot removed = snapshot;
    const auto dependents = dependents_of(tree, removed.uid);
    if (dependents.empty()) {
      tree.erase(removed.uid);
      if (!machine.save_snapshots()) return false;
      (void)remove_file(machine.folder() + "/" + removed.disk);
      return true;
    }
    tried.insert(removed.uid);
    if (dependents.size() == 1) (void)merge_into(machine, removed, dependents[0]);
    return true;
  }
  return false;
}

}  // namespace

Result<std::string> free_layer_name(const Machine& machine) {
  for (int i = 1; i < 1000000; ++i) {
    std::string digits = std::to_string(i);
    digits.insert(0, 6 - digits.size(), '0');
    std::string name = machine.name() + "-" + digits + ".qcow2";
    if (!exists(machine.folder() + "/" + name)) return name;
  }
  return fail("disk", std::string(texts::kUnknownError));
}

void collapse_removed(Machine& machine) {
  std::set<std::uint32_t> tried;
  while (collapse_one(machine, tried)) {
  }
}

void sweep(const Machine& machine) {
  const auto names = names_in(machine.folder(), kMaxNames);
  const auto top = machine.top_disk();
  if (!is_alone(machine, names) || !top) return;
  std::set<std::string> wanted{*top};
  for (const std::string& description : machine.states()) {
    wanted.insert(description);
    wanted.insert(machine.memory_of(description));
  }
  for (const Snapshot& snapshot : machine.snapshots().snapshots) wanted.insert(snapshot.disk);
  for (const std::string& name : names) {
    if (is_made_for(name, machine.name()) && !wanted.contains(name)) {
      (void)remove_file(machine.folder() + "/" + name);
    }
  }
}

void delete_files(const Machine& machine) {
  const std::string folder = machine.folder() + "/";
  const auto names = names_in(machine.folder(), kMaxNames);
  if (const auto top = machine.top_disk()) (void)remove_file(folder + *top);
  for (const std::string& description : machine.states()) {
    (void)remove_file(folder + machine.memory_of(description));
    (void)remove_file(folder + description);
  }
  for (const Snapshot& snapshot : machine.snapshots().snapshots) (void)remove_file(folder + snapshot.disk);
  if (is_alone(machine, names)) {
    for (const std::string& name : names) {
      if (is_made_for(name, machine.name())) (void)remove_file(folder + name);
    }
  }
  // A machine that stands on no other has its kernel and credential to itself, when it is alone there.
  const auto machines = std::count_if(names.begin(), names.end(),
                                      [](const std::string& name) { return name.ends_with(".vmx"); });
  if (!machine.snapshots().origin && machines == 1) {
    for (const char* key : kBaseFiles) {
      const std::string name = machine.vmx().get_or(key, "");
      if (is_plain_name(name)) (void)remove_file(folder + name);
    }
  }
  for (const char* ending : {".vmxf", ".nvram"}) (void)remove_file(folder + machine.name() + ending);
}

}  // namespace standin
