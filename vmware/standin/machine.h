#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vmware/standin/files.h"
#include "vmware/standin/snapshots.h"
#include "vmware/vmx.h"

namespace standin {

// Keys that name a file in the base folder.
inline constexpr const char* kBaseFiles[] = {"qemu.kernel", "qemu.initrd", "qemu.guest.credential"};

// One virtual machine on disk: a .vmx and what stands beside it. Read at one moment; other processes may
// change the files, so whoever writes holds `lock_folder`.
class Machine final {
 public:
  // Errors carry VMware's sentences: `vm.absent`, `vm.unreadable`, `vm.invalid`.
  static Result<Machine> open(const std::string& path);

  const std::string& path() const { return path_; }      // canonical
  const std::string& folder() const { return folder_; }  // canonical
  std::string name() const;                              // file name of the .vmx without `.vmx`
  const FileIdentity& identity() const { return identity_; }
  const vmware::Vmx& vmx() const { return vmx_; }
  vmware::Vmx& vmx() { return vmx_; }
  const SnapshotTree& snapshots() const { return snapshots_; }
  SnapshotTree& snapshots() { return snapshots_; }

  // The disk guests write to, a plain name beside the .vmx.
  Result<std::string> top_disk() const;
  // Absolute paths of the disk's layers, the writable one first. Built from the .vmsd files alone; no disk
  // image is asked for its backing file, because a guest may have written that.
  Result<std::vector<std::string>> disk_layers() const;
  // The same of one of its snapshots.
  Result<std::vector<std::string>> layers_of(std::uint32_t snapshot) const;
  // Plain names of the descriptions of saved states that belong to it.
  std::vector<std::string> states() const;
  // The stream that goes with a description: the same name with `.vmem`.
  static std::string memory_of(const std::string& description);
  // The folder of the machine this one descends from; its own when it is no clone.
  Result<std::string> base_folder() const;
  // Absolute path of a file in the base folder that a `qemu.*` key names; empty when the key is absent.
  Result<std::string> base_file(std::string_view key) const;

  // The description of what the machine was doing when it was suspended; empty when it was not. A plain name.
  std::string saved_state() const;

  // A change of disk or saved state, and of the snapshots with it: counts from the moment this returns, or
  // not at all. The .vmx stays as it is until `settle`, for whoever runs the machine knows it by that file.
  Result<> commit(PendingChange change);
  // Brings the .vmx up to what counts; the machine must be off. Changes `identity`.
  Result<> settle();
  // The .vmx without the saved state, which counts nevertheless until `forget_saved_state`.
  Result<> defer_saved_state();
  Result<> forget_saved_state();

  Result<> save_vmx() const;
  Result<> save_snapshots() const;

 private:
  Machine() = default;
  void apply_pending();
  Result<std::vector<std::string>> layers_below(std::vector<std::string> layers, std::uint32_t from) const;
  std::string path_, folder_;
  FileIdentity identity_;
  vmware::Vmx vmx_;
  SnapshotTree snapshots_;
};

// Held by whoever changes the files of a machine, starts or stops it: one at a time over all processes.
// `vm.in_use` when another does not let go of it within a minute.
Result<Fd> lock_folder(const std::string& folder);

}  // namespace standin
