#include "vmware/standin/runtime_sweep.h"

#include "vmware/standin/runtime.h"

namespace standin {
namespace {

constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxNames = 100;

void empty_and_remove(const std::string& folder) {
  for (const std::string& name : names_in(folder, kMaxNames)) (void)remove_file(folder + "/" + name);
  (void)remove_empty_folder(folder);
}

}  // namespace

void remove_entry(const RuntimeEntry& entry) {
  empty_and_remove(entry.qemu_folder());
  empty_and_remove(entry.folder());
}

void sweep_entries() {
  const auto root = runtime_root();
  if (!root) return;
  for (const std::string& name : names_in(*root, kMaxEntries)) {
    const RuntimeEntry entry(*root + "/" + name);
    const std::string vmx = entry.vmx_path();
    // One that is being made has no path yet.
    if (vmx.empty() || entry.is_alive()) continue;
    const auto identity = identity_of(vmx);
    if (!identity || identity->text() != name) remove_entry(entry);
  }
}

}  // namespace standin
