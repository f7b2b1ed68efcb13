#include "vmware/stray_commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

namespace vmware {
namespace {

constexpr std::size_t kMostArguments = 128 << 10;  // bytes
constexpr int kDeathPatience = 500;                // ms

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> arguments_of(const std::string& folder) {
  const int file = ::open((folder + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string bytes(kMostArguments, '\0');
  std::size_t have = 0;
  for (ssize_t n = 1; n > 0 && have < bytes.size();) {
    n = ::read(file, bytes.data() + have, bytes.size() - have);
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  ::close(file);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < have;) {
    words.emplace_back(bytes.c_str() + at);
    at += words.back().size() + 1;
  }
  return words;
}

bool is_stray(const std::string& folder, const std::string& program, const std::string& word) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  const auto words = arguments_of(folder);
  if (std::find(words.begin(), words.end(), word) == words.end()) return false;
  std::array<char, 4096> link{};
  const ssize_t length = ::readlink((folder + "/exe").c_str(), link.data(), link.size());
  const std::string_view runs(link.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  // VMware's vmrun is a script on some hosts: then its name stands in the first words.
  const auto name = base_name(program);
  return base_name(runs) == name || base_name(words[0]) == name ||
         (words.size() > 1 && base_name(words[1]) == name);
}

bool end_process(pid_t pid, const std::string& folder, const std::string& program, const std::string& word) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) return false;
  // Looked at again: with the handle held, the number cannot pass to another process.
  const bool stray = is_stray(folder, program, word);
  if (stray && ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0) == 0) {
    pollfd gone{handle, POLLIN, 0};
    (void)::poll(&gone, 1, kDeathPatience);
  }
  ::close(handle);
  return stray;
}

}  // namespace

std::size_t end_stray_commands(const std::string& program, const std::string& word) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  if (!processes) return 0;
  std::size_t ended = 0;
  while (const dirent* const entry = ::readdir(processes.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size() || pid == ::getpid()) continue;
    const std::string folder = "/proc/" + std::string(name);
    if (is_stray(folder, program, word) && end_process(pid, folder, program, word)) ++ended;
  }
  return ended;
}

}  // namespace vmware
