#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace policy {

// Which names a path may hold. `portable` is what both hosts can hold and is the default everywhere.
// `windows` has the same names and takes `\` as a separator beside `/`.
enum class NameRules { posix, portable, windows };

// A place below a host root (the transfer folder): components that are never empty, `.`, `..`, or hold a
// separator, NUL, control or direction-changing character. Nothing about the disk is known yet: links and
// what exists are the path jail's business. If a value could hold `..`, the jail would be all that stands
// before the host.
class HostPath {
 public:
  // The one set of path rules, a pure function of the bytes. Codes: path.empty, path.absolute, path.dotdot,
  // path.nul, path.control, path.format, path.encoding, path.separator, path.unc, path.device, path.drive,
  // path.stream, path.reserved, path.trailing, path.character, path.short_name, path.confusable,
  // path.staging, path.name_too_long, path.too_long, path.too_deep. `.` is the root itself.
  static Result<HostPath> parse(std::string_view text, NameRules rules = NameRules::portable);

  const std::vector<std::string>& components() const { return components_; }
  bool is_root() const { return components_.empty(); }
  // Joined with `/`; `.` for the root.
  std::string text() const;
  // Written with a `/` or `/.` at its end: only a folder may be there. Plays no part in comparing.
  bool names_folder() const { return folder_; }
  auto operator<=>(const HostPath& other) const { return components_ <=> other.components_; }
  bool operator==(const HostPath& other) const { return components_ == other.components_; }

 private:
  std::vector<std::string> components_;
  bool folder_ = false;
};

// An absolute POSIX path in the guest, normalised: no `.`, `..`, empty component, NUL, control or
// direction-changing character. Codes: path.relative and those of HostPath that a POSIX path can have.
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
