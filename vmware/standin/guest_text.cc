#include "vmware/standin/guest_text.h"

#include <algorithm>
#include <vector>

#include "vmware/standin/texts.h"

namespace standin {
namespace {

constexpr std::size_t kMaxNames = 100000;
constexpr std::size_t kMaxPath = 4095;
constexpr std::size_t kMaxPart = 255;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string shown(std::string_view text) {
  std::string out(text);
  std::replace_if(out.begin(), out.end(), is_control, '?');
  return out;
}

// What stands before each NUL; what follows the last one is half a word and dropped.
std::vector<std::string_view> words_of(std::string_view bytes) {
  std::vector<std::string_view> words;
  for (std::size_t end = bytes.find('\0'); end != std::string_view::npos && words.size() < kMaxNames;
       end = bytes.find('\0')) {
    words.push_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return words;
}

}  // namespace

std::string process_listing(std::string_view bytes) {
  const auto words = words_of(bytes);
  std::string lines;
  std::size_t count = 0;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    const std::string_view pid = words[i];
    const std::string_view owner = words[i + 1];
    if (pid.empty() || pid.size() > 10 || pid.find_first_not_of("0123456789") != std::string_view::npos)
      continue;
    if (owner.empty() || owner.size() > 64) continue;
    const std::string line =
        "pid=" + std::string(pid) + ", owner=" + shown(owner) + ", cmd=" + shown(words[i + 2]) + "\n";
    if (lines.size() + line.size() > kMaxListing) break;
    lines += line;
    ++count;
  }
  return "Process list: " + std::to_string(count) + "\n" + lines;
}

std::string directory_listing(std::string_view bytes) {
  auto names = words_of(bytes);
  std::sort(names.begin(), names.end());
  std::string text = "Directory list: " + std::to_string(names.size()) + "\n";
  for (const std::string_view name : names) text += shown(name) + "\n";
  return text;
}

std::string printed_path(std::string_view bytes) {
  while (bytes.ends_with("\n")) bytes.remove_suffix(1);
  if (!bytes.starts_with("/") || bytes.size() > 4096 || std::any_of(bytes.begin(), bytes.end(), is_control))
    return {};
  return std::string(bytes);
}

policy::Result<> check_guest_path(std::string_view path) {
  const auto invalid = policy::fail("parameter", std::string(texts::kInvalidParameter));
  if (path.empty() || path.size() > kMaxPath) return invalid;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > kMaxPart) return invalid;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return {};
}

}  // namespace standin
