#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vmware/standin/files.h"

namespace standin {

// What is known of machines that run, kept outside of their folders: one entry for each .vmx, named by its
// identity.
//
//   <root>/<device>-<inode>/alive   flock held as long as the QEMU process lives
//                          /vmx     the .vmx path, /pid its process and that process's start time
//                          /q/      the sockets QEMU serves; QEMU itself has them as descriptors
//   <root>/boot/                     copies of kernels that machines with user ids of their own can read
class RuntimeEntry final {
 public:
  // `known` is a record of the machine's process from elsewhere, for when the folder does not tell.
  explicit RuntimeEntry(std::string folder, std::string known = {})
      : folder_(std::move(folder)), known_(std::move(known)) {}

  const std::string& folder() const { return folder_; }
  std::string qemu_folder() const { return folder_ + "/q"; }
  std::string file(const char* name) const { return folder_ + "/" + name; }
  // By its lock, or by its process: an emulator that was taken over could give up the lock and live on.
  bool is_alive() const { return is_locked(file("alive")) || process().has_value(); }
  // The process that runs the machine, if it is still that one.
  std::optional<int> process() const;
  // What stands in `pid`; empty when nothing does.
  std::string record() const;
  std::string vmx_path() const;
  // Milliseconds since the machine was started.
  std::int64_t age_ms() const;

 private:
  std::string folder_, known_;
};

// `$SALLYPORT_VMRUN_DIR`, `$XDG_RUNTIME_DIR/sallyport-vmrun` or `/tmp/sallyport-vmrun-<uid>`; made if absent,
// refused when another user could reach it or when sockets in it would have too long a name.
Result<std::string> runtime_root();
// A process as `pid` files have it: its id and its start time, which no later process of that id shares.
std::string record_of_this_process();
// The id in such a record while that process runs.
std::optional<int> process_of_record(const std::string& record);
// Writes `pid` for this very process.
Result<> record_process(const std::string& path);
// SIGKILL to that process if it is still the one recorded.
void kill_process(const RuntimeEntry& entry);

}  // namespace standin
