#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "vmware/standin/lock_file.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

constexpr std::size_t kMaxLocks = 100;
constexpr char kOurs[] = "M00001.lck";

std::string folder_of_lock(const Machine& machine) { return machine.path() + ".lck"; }

std::string machine_id() {
  std::string id = read_small_file("/etc/machine-id", 64).value_or("unknown");
  if (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

constexpr std::string_view kOurProcess = "ProcessName=sallyport-vmrun\n";
constexpr std::string_view kProcessKey = "qemu.process=";
constexpr std::string_view kEntryKey = "qemu.entry=";

std::string content(int pid, const std::string& record, const RuntimeEntry& entry) {
  return "machineID=" + machine_id() + "\nexecutionID=" + std::to_string(pid) + "\nVmVersion=8\n" +
         std::string(kOurProcess) + std::string(kProcessKey) + record + std::string(kEntryKey) +
         entry.folder() + "\n";
}

// With its end of line; empty when there is no such line.
std::string value_of(const std::string& text, std::string_view key) {
  const std::size_t at = text.find("\n" + std::string(key));
  if (at == std::string::npos) return {};
  const std::size_t start = at + 1 + key.size();
  const std::size_t end = text.find('\n', start);
  return end == std::string::npos ? std::string() : text.substr(start, end + 1 - start);
}

// Whether the lock binds somebody who is still there; a lock we do not understand does.
bool is_held(const std::string& text) {
  if (text.find("machineID=" + machine_id() + "\n") == std::string::npos) return true;
  constexpr std::string_view kKey = "executionID=";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return true;
  int pid = 0;
  const auto [end, error] = std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), pid);
  if (error != std::errc() || pid <= 0) return true;
  // One of ours: whether its machine runs was asked before (`entry_of`), and it does not.
  if (text.find(kOurProcess) != std::string::npos) return false;
  return kill(pid, 0) == 0 || errno == EPERM;
}

}  // namespace

Result<> LockFile::take(const Machine& machine, const RuntimeEntry& entry, Leftover leftover) {
  const std::string folder = folder_of_lock(machine);
  for (const std::string& name : names_in(folder, kMaxLocks)) {
    if (!name.starts_with("M") || !name.ends_with(".lck")) continue;
    const auto text = read_small_file(folder + "/" + name, 4096);
    if (leftover == Leftover::counts || !text || is_held(*text))
      return fail("vm.in_use", std::string(texts::kFileInUse));
    (void)remove_file(folder + "/" + name);
  }
  if (auto made = make_folder(folder); !made && made.error().code != "file.exists") return made;
  return write_file_atomically(folder + "/" + kOurs, content(getpid(), record_of_this_process(), entry));
}

Result<> LockFile::record(const Machine& machine, const RuntimeEntry& entry) {
  return write_file_atomically(folder_of_lock(machine) + "/" + kOurs,
                               content(entry.process().value_or(0), entry.record(), entry));
}

std::optional<LockFile::Owner> LockFile::owner(const Machine& machine) {
  const auto text = read_small_file(folder_of_lock(machine) + "/" + kOurs, 4096);
  if (!text || text->find(kOurProcess) == std::string::npos ||
      text->find("machineID=" + machine_id() + "\n") == std::string::npos) {
    return std::nullopt;
  }
  Owner owner{value_of(*text, kProcessKey), value_of(*text, kEntryKey)};
  if (!owner.entry.empty()) owner.entry.pop_back();
  return owner;
}

void LockFile::drop(const Machine& machine) {
  (void)remove_file(folder_of_lock(machine) + "/" + kOurs);
  (void)remove_empty_folder(folder_of_lock(machine));
}

}  // namespace standin
