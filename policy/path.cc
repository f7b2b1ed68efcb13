#include "policy/path.h"

#include <optional>

#include "policy/path_rules.h"

namespace policy {
namespace {

constexpr std::size_t kMaxGuestPathBytes = 4095;  // PATH_MAX of Linux without its NUL

bool is_separator(char c, NameRules rules) { return c == '/' || (rules == NameRules::windows && c == '\\'); }

// Forms that name a place by themselves instead of below a root.
std::optional<PathFault> judge_beginning(std::string_view text, NameRules rules) {
  if (rules == NameRules::posix) {
    return text.front() == '/' ? std::optional(PathFault::absolute) : std::nullopt;
  }
  const auto slash = [](char c) { return c == '/' || c == '\\'; };
  if (slash(text.front())) {
    if (text.starts_with("\\??\\")) return PathFault::device_namespace;
    if (text.size() < 2 || !slash(text[1])) return PathFault::absolute;
    const bool device =
        text.size() >= 3 && (text[2] == '?' || text[2] == '.') && (text.size() == 3 || slash(text[3]));
    return device ? PathFault::device_namespace : PathFault::unc;
  }
  const char first = static_cast<char>(text.front() | 0x20);
  if (text.size() >= 2 && text[1] == ':' && first >= 'a' && first <= 'z') return PathFault::drive_letter;
  return std::nullopt;
}

}  // namespace

Result<HostPath> HostPath::parse(std::string_view text, NameRules rules) {
  const auto refuse = [](PathFault fault) { return tl::unexpected<Error>(error_of(fault, "the host path")); };
  if (text.empty()) return refuse(PathFault::empty);
  if (text.size() > 64 * kMaxPathBytes) return refuse(PathFault::path_too_long);
  if (const auto fault = judge_characters(text)) return refuse(*fault);
  if (const auto fault = judge_beginning(text, rules)) return refuse(*fault);

  HostPath path;
  std::optional<PathFault> found;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::size_t length = 0;
    while (length < rest.size() && !is_separator(rest[length], rules)) ++length;
    const std::string_view component = rest.substr(0, length);
    path.folder_ = length < rest.size() || component == ".";
    rest.remove_prefix(length < rest.size() ? length + 1 : length);
    if (component.empty() || component == ".") continue;
    // `..` anywhere outweighs the other faults: it is what an attacker would be looking for.
    if (component == "..") return refuse(PathFault::parent_ref);
    if (!found) found = judge_component(component, rules);
    path.components_.emplace_back(component);
  }
  if (found) return refuse(*found);
  if (text.size() > kMaxPathBytes) return refuse(PathFault::path_too_long);
  if (path.components_.size() > kMaxPathDepth) return refuse(PathFault::too_deep);
  return path;
}

std::string HostPath::text() const {
  if (components_.empty()) return ".";
  std::string joined;
  for (const auto& component : components_) {
    if (!joined.empty()) joined += '/';
    joined += component;
  }
  return joined;
}

Result<GuestPath> GuestPath::parse(std::string_view text) {
  const auto refuse = [](PathFault fault) {
    return tl::unexpected<Error>(error_of(fault, "the guest path"));
  };
  if (text.empty()) return refuse(PathFault::empty);
  if (text.size() > kMaxGuestPathBytes) {
    return fail(std::string(code_of(PathFault::path_too_long)),
                "the guest path is longer than 4095 bytes; use a shorter path");
  }
  if (const auto fault = judge_characters(text)) return refuse(*fault);
  if (text.front() != '/') {
    return fail("path.relative", "the guest path is relative; use a full path, such as `/home/agent/a.txt`");
  }
  GuestPath path;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view component = text.substr(0, text.find('/'));
    text.remove_prefix(component.size());
    if (component.empty() || component == ".") continue;
    if (component == "..") return refuse(PathFault::parent_ref);
    if (component.size() > kMaxComponentBytes) return refuse(PathFault::component_too_long);
    path.components_.emplace_back(component);
  }
  return path;
}

std::string GuestPath::text() const {
  if (components_.empty()) return "/";
  std::string joined;
  for (const auto& component : components_) joined += '/' + component;
  return joined;
}

}  // namespace policy
