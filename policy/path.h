#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace policy {

// Which names a path may hold. `portable` is what both hosts can hold and is the default everywhere.
enum class NameRules { posix, portable };

// A place below a host root (the transfer folder): components that are never empty, `.`, `..`, or hold a
// separator, NUL, control or direction-changing character. Nothing about the disk is known yet: links and
// what exists are the path jail's business. If a value could hold `..`, the jail would be all that stands
// before the host.
class HostPath {
 public:
  // The one set of path rules, a pure function of the bytes. Codes: path.empty, path.absolute, path.dotdot,
  // path.nul, path.control, path.encoding, path.separator, path.drive, path.stream, path.reserved,
  // path.trailing, path.character, path.too_long. `.` is the root itself.
  static Result<HostPath> parse(std::string_view text, NameRules rules = NameRules::portable);

  const std::vector<std::string>& components() const { return components_; }
  bool is_root() const { return components_.empty(); }
  // Joined with `/`; `.` for the root.
  std::string text() const;
  auto operator<=>(const HostPath&) const = default;

 private:
  std::vector<std::string> components_;
};

// An absolute POSIX path in the guest, normalised: no `.`, `..`, empty component, NUL or control character.
// The guest resolves its own links; nothing on the host depends on where it leads.
class GuestPath {
 public:
  static Result<GuestPath> parse(std::string_view text);

  const std::vector<std::string>& components() const { return components_; }
  std::string text() const;  // `/a/b`; `/` for the root
  auto operator<=>(const GuestPath&) const = default;

 private:
  std::vector<std::string> components_;
};

}  // namespace policy
