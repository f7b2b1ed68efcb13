#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "vmware/standin/runtime.h"

namespace standin {
namespace {

using policy::fail;

// `/<16 hex>-<16 hex>/q/` and the longest socket name.
constexpr std::size_t kSocketNameRoom = 60;

// Field 22 of /proc/<pid>/stat: the process's start in clock ticks since boot. Empty when there is no such
// process or only its exit code is left of it.
std::string start_time_of(int pid) {
  const auto stat = read_small_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!stat) return {};
  // The name in parentheses may hold anything; what follows the last one is numbers.
  const std::size_t close = stat->rfind(')');
  if (close == std::string::npos) return {};
  std::string_view rest = std::string_view(*stat).substr(close + 1);
  for (int field = 3; field <= 22; ++field) {
    const std::size_t start = rest.find_first_not_of(' ');
    if (start == std::string_view::npos) return {};
    rest.remove_prefix(start);
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (field == 3 && (rest[0] == 'Z' || rest[0] == 'X')) return {};
    if (field == 22) return std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return {};
}

}  // namespace

std::optional<int> process_of_record(const std::string& record) {
  int pid = 0;
  const auto [end, error] = std::from_chars(record.data(), record.data() + record.size(), pid);
  if (error != std::errc() || pid <= 1) return std::nullopt;
  const std::string start = start_time_of(pid);
  if (start.empty() || std::string(end, record.data() + record.size()) != " " + start + "\n")
    return std::nullopt;
  return pid;
}

std::optional<int> RuntimeEntry::process() const {
  const auto recorded = process_of_record(record());
  return recorded ? recorded : process_of_record(known_);
}

std::string RuntimeEntry::record() const { return read_small_file(file("pid"), 64).value_or(""); }

std::string RuntimeEntry::vmx_path() const {
  std::string path = read_small_file(file("vmx"), 8192).value_or("");
  if (!path.empty() && path.back() == '\n') path.pop_back();
  return path;
}

std::int64_t RuntimeEntry::age_ms() const {
  struct stat info{};
  timespec now{};
  if (stat(file("pid").c_str(), &info) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return 0;
  return (now.tv_sec - info.st_mtim.tv_sec) * 1000 + (now.tv_nsec - info.st_mtim.tv_nsec) / 1000000;
}

Result<std::string> runtime_root() {
  std::string root = environment("SALLYPORT_VMRUN_DIR");
  if (root.empty()) {
    const std::string base = environment("XDG_RUNTIME_DIR");
    root = base.empty() ? "/tmp/sallyport-vmrun-" + std::to_string(geteuid()) : base + "/sallyport-vmrun";
  }
  if (root.front() != '/' || root.size() + kSocketNameRoom > sizeof(sockaddr_un::sun_path)) {
    return fail("runtime",
                "the runtime folder must have an absolute path of at most 48 bytes: `" + root + "`");
  }
  if (auto made = make_private_folder(root); !made) return tl::unexpected(made.error());
  return root;
}

std::string record_of_this_process() {
  const int pid = getpid();
  return std::to_string(pid) + " " + start_time_of(pid) + "\n";
}

Result<> record_process(const std::string& path) {
  return write_file_atomically(path, record_of_this_process());
}

void kill_process(const RuntimeEntry& entry) {
  const auto pid = entry.process();
  if (!pid) return;
  // The descriptor pins the process; the record is compared again behind it, so that a reused id is never
  // hit.
  const Fd handle(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  if (handle && entry.process() == pid)
    (void)syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
}

}  // namespace standin
