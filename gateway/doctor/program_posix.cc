#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/doctor/program.h"
#include "gateway/net/descriptor.h"
#include "gateway/owner/child.h"
#include "gateway/settings/folder.h"

namespace gateway::doctor {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMost = 65'536;

}  // namespace

policy::Result<std::string> output_of(std::vector<std::string> words, std::chrono::milliseconds within) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return policy::fail("program.start", "cannot make a pipe");
  const Descriptor readable(ends[0]);
  Descriptor writable(ends[1]);
  const auto started = start_child(words, writable, writable);
  writable.reset();
  if (!started) return tl::unexpected(started.error());
  const pid_t pid = *started;

  std::string text;
  const auto until = Clock::now() + within;
  bool ended = false;
  while (!ended && text.size() < kMost) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    pollfd watched{readable.get(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left)) <= 0) continue;
    char piece[4096];
    const auto got = ::read(readable.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    ended = got <= 0;
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  }
  // One that has closed its output may still go on.
  int status = 0;
  bool gone = false;
  while (ended && !(gone = ::waitpid(pid, &status, WNOHANG) == pid)) {
    if (Clock::now() >= until) break;
    (void)::poll(nullptr, 0, 5);
  }
  if (!gone) {
    ended = false;
    ::kill(-pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!ended) return policy::fail("program.timeout", "`" + words[0] + "` did not answer in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return policy::fail("program.failed", "`" + words[0] + "` failed: " + text.substr(0, 300));
  return text;
}

std::string program_in(const std::vector<std::string>& folders, const std::string& name) {
  for (const auto& folder : folders) {
    auto path = folder + "/" + name;
    if (is_executable(path)) return path;
  }
  return {};
}

std::vector<std::string> program_folders() {
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  std::string left = path != nullptr ? path : "";
  left += ":/usr/bin:/usr/sbin:/sbin";
  while (!left.empty()) {
    const auto colon = left.find(':');
    if (left.starts_with('/')) folders.push_back(left.substr(0, colon));
    left = colon == std::string::npos ? "" : left.substr(colon + 1);
  }
  return folders;
}

Access access_of(const std::string& device) {
  if (!is_there(device)) return Access::absent;
  return ::access(device.c_str(), R_OK | W_OK) == 0 ? Access::usable : Access::denied;
}

}  // namespace gateway::doctor
