#pragma once

#include <optional>
#include <string_view>

#include "policy/path.h"
#include "policy/result.h"

// The rules of names and paths as pure functions of bytes, shared by the arguments of copies, the names in
// archives and the tests. Whether something exists, or is a link, is never asked here.
namespace policy {

inline constexpr std::size_t kMaxPathBytes = 1024;
inline constexpr std::size_t kMaxComponentBytes = 255;
inline constexpr std::size_t kMaxPathDepth = 64;

// Prefix of the folders in which copies are staged below a transfer root. No path and no archive may name
// one: whoever could, would reach files that were not accepted yet.
inline constexpr std::string_view kStagingPrefix = ".sallyport-staging-";

enum class PathFault {
  empty,
  absolute,
  parent_ref,
  nul,
  control_char,  // C0, DEL, C1, U+2028, U+2029
  format_char,   // direction controls, zero-width space, word joiner, byte order mark, tags
  non_utf8,
  component_too_long,
  path_too_long,
  too_deep,
  staging_name,
  // What only a host of the other kind could not hold: `portable` and `windows` rules.
  unc,
  device_namespace,
  drive_letter,
  backslash,
  ads,  // any other colon
  win_illegal_char,
  trailing_dot_space,
  reserved_name,
  short_name,  // `PROGRA~1`
  confusable,  // NFKC makes it `/`, `\`, `:`, `.` or `..`
};

std::string_view class_of(PathFault);  // `parent-ref`, for records and the `check` commands
std::string_view code_of(PathFault);   // `path.dotdot`
// True for the classes that a POSIX host could hold.
bool only_portable(PathFault);

// Judges the characters of a whole path: NUL, encoding, control and format characters.
std::optional<PathFault> judge_characters(std::string_view text);
// Judges one component, which is not empty, holds no `/` and passed judge_characters().
std::optional<PathFault> judge_component(std::string_view component, NameRules rules);

// `subject` (`host path`) and what is wrong with it, and what to do instead.
Error error_of(PathFault, std::string_view subject);

}  // namespace policy
