#include "vmware/base/base_machine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "vmware/base/qcow2_header.h"
#include "vmware/base/qcow2_tables.h"
#include "vmware/base/snapshot_records.h"
#include "vmware/base/vmdk_descriptor.h"
#include "vmware/host_files.h"
#include "vmware/vmx_rebuild.h"

namespace vmware {
namespace {

using policy::fail;

constexpr int kMaxLayers = 64;

struct Place {
  std::string folder, name;
  std::string path() const { return folder + "/" + name; }
};

policy::Error about(const Place& disk, policy::Error error) {
  error.message = "the disk `" + disk.name + "`: " + error.message;
  return error;
}

class Chain final {
 public:
  Chain(const std::string& folder, std::span<const std::string> below) {
    allowed_.push_back(folder);
    allowed_.insert(allowed_.end(), below.begin(), below.end());
  }

  policy::Result<> follow(Place disk) {
    for (int layer = 0; layer < kMaxLayers; ++layer) {
      auto below = disk.name.ends_with(".qcow2") ? qcow2_below(disk) : vmdk_below(disk);
      if (!below) return tl::unexpected(about(disk, below.error()));
      if (below->empty()) return {};
      auto next = place(disk, *below);
      if (!next) {
        return tl::unexpected(
            about(disk, {"disk.elsewhere", "the layer below it lies outside of the base machine's folder"}));
      }
      disk = std::move(*next);
    }
    return fail("disk.layers", "a disk has more than " + std::to_string(kMaxLayers) + " layers");
  }

 private:
  // Where a layer's name leads; nothing when that is no plain file of an allowed folder.
  std::optional<Place> place(const Place& from, const std::string& name) const {
    if (plain_file_name(name)) return Place{from.folder, name};
    const auto slash = name.rfind('/');
    if (slash == std::string::npos || slash == 0 || name.front() != '/') return std::nullopt;
    Place made{name.substr(0, slash), name.substr(slash + 1)};
    if (!plain_file_name(made.name)) return std::nullopt;
    for (const auto& folder : allowed_) {
      if (same_file(folder, made.folder)) return Place{folder, std::move(made.name)};
    }
    return std::nullopt;
  }

  static policy::Result<std::string> qcow2_below(const Place& disk) {
    const auto head = read_head(disk.path(), kQcow2Head);
    if (!head) return tl::unexpected(head.error());
    const auto header = parse_qcow2(*head);
    if (!header) return tl::unexpected(header.error());
    if (!header->backing.empty() && header->backing_format != "qcow2") {
      return fail("disk.format", "it does not say that the layer below it is a qcow2 image");
    }
    const auto size = size_of(disk.path());
    if (!size) return tl::unexpected(size.error());
    auto whole = check_qcow2_tables(*head, *size, [&](std::uint64_t offset, std::size_t bytes) {
      return read_part(disk.path(), offset, bytes);
    });
    if (!whole) return tl::unexpected(whole.error());
    return header->backing;
  }

  static policy::Result<std::string> vmdk_below(const Place& disk) {
    const auto head = read_head(disk.path(), kVmdkHead);
    if (!head) return tl::unexpected(head.error());
    const auto text = vmdk_descriptor_of(*head);
    if (!text) return tl::unexpected(text.error());
    const auto descriptor = parse_vmdk_descriptor(*text);
    if (!descriptor) return tl::unexpected(descriptor.error());
    for (const auto& extent : descriptor->extents) {
      if (extent.file.empty()) continue;
      const auto part = read_head(disk.folder + "/" + extent.file, 1);
      if (!part) return tl::unexpected(part.error());
    }
    return descriptor->parent;
  }

  std::vector<std::string> allowed_;
};

policy::Result<> check_snapshot(const std::string& vmx_path, const std::string& snapshot) {
  const auto folder = folder_of(vmx_path);
  const auto records_path = vmx_path.substr(0, vmx_path.rfind('.')) + ".vmsd";
  const auto bytes = read_file(records_path, Vmx::kMaxFile);
  if (!bytes && bytes.error().code == "file.missing") {
    return fail("snapshot.missing",
                "the base machine has no snapshots; switch it off and take one named `" + snapshot + "`");
  }
  if (!bytes) return tl::unexpected(bytes.error());
  const auto records = read_snapshot_records(*bytes);
  if (!records) return tl::unexpected(records.error());
  const auto named = [&](const SnapshotRecord& record) { return record.name == snapshot; };
  const auto found = std::find_if(records->begin(), records->end(), named);
  if (found == records->end()) {
    return fail("snapshot.missing",
                "the base machine has no snapshot `" + snapshot + "`; take it with the machine switched off");
  }
  if (std::count_if(records->begin(), records->end(), named) > 1) {
    return fail("snapshot.ambiguous",
                "the base machine has several snapshots named `" + snapshot + "`; rename all but one");
  }
  const auto& state = found->state_file;
  const bool memory_file = plain_file_name(state) && state.ends_with(".vmsn") &&
                           file_age(folder + "/" + state.substr(0, state.size() - 5) + ".vmem").has_value();
  if (found->with_memory || memory_file) {
    return fail("snapshot.memory", "the snapshot `" + snapshot +
                                       "` was taken while the base machine ran, and such cannot be cloned; "
                                       "switch the machine off and take another");
  }
  return {};
}

}  // namespace

policy::Result<> check_disks(const Vmx& vmx, const std::string& folder, std::span<const std::string> below) {
  Chain chain(folder, below);
  for (const auto& name : disk_files(vmx)) {
    if (!plain_file_name(name)) {
      return fail("vmx.value", "a disk's `fileName` has a value a sandbox may not have");
    }
    if (auto followed = chain.follow({folder, name}); !followed) return followed;
  }
  return {};
}

policy::Result<> check_base(const std::string& vmx_path, const std::string& snapshot) {
  const auto bytes = read_file(vmx_path, Vmx::kMaxFile);
  if (!bytes && bytes.error().code == "file.missing") {
    return fail("base.missing", "there is no base machine at the path in the settings");
  }
  if (!bytes) return tl::unexpected(bytes.error());
  const auto vmx = Vmx::parse(*bytes, vmx_path.substr(vmx_path.rfind('/') + 1));
  if (!vmx) return tl::unexpected(vmx.error());
  const auto possible = rebuild_vmx(*vmx, policy::SandboxId::random(), policy::Create{});
  if (!possible) return tl::unexpected(possible.error());
  if (!vmx->get_or("checkpoint.vmState", "").empty()) {
    return fail("base.suspended", "the base machine is suspended; start it, switch it off and try again");
  }
  if (auto sound = check_snapshot(vmx_path, snapshot); !sound) return sound;
  return check_disks(*vmx, folder_of(vmx_path), {});
}

}  // namespace vmware
