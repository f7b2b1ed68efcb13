#include <charconv>
#include <string>
#include <string_view>

#include "gateway/approval/ancestry.h"
#include "gateway/settings/folder.h"

namespace gateway {
namespace {
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxStatus = 16 * 1024;
}  // namespace

// proc(5): the line `PPid:` of /proc/<pid>/status.
std::int32_t parent_of(std::int32_t pid) {
  const auto status = read_small_file("/proc/" + std::to_string(pid) + "/status", kMaxStatus);
  constexpr std::string_view kLine = "\nPPid:\t";
  if (!status) return 0;
  const auto at = status->find(kLine);
  if (at == std::string::npos) return 0;
  std::int32_t parent = 0;
  std::from_chars(status->data() + at + kLine.size(), status->data() + status->size(), parent);
  return parent;
}

std::vector<std::int32_t> ancestors_of(std::int32_t pid) {
  std::vector<std::int32_t> line;
  while (pid > 1 && line.size() < kMaxDepth) {
    line.push_back(pid);
    pid = parent_of(pid);
  }
  return line;
}

}  // namespace gateway
