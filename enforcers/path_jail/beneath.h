#pragma once

#include <string>
#include <string_view>

#include "enforcers/path_jail/descriptor.h"
#include "policy/result.h"

namespace enforcers {

// How names are followed: by the kernel in one call, or by ourselves, one component a call. `chain` is for
// kernels and system-call filters without openat2; it is as strict but for mounts of the same file system
// below the root, which it does not notice.
enum class Resolver { openat2, chain };

// Finds out which one works here; `folder` is any open folder.
Resolver probe_resolver(int folder);

struct Opened {
  Descriptor file;  // empty when `error` is set
  int error = 0;    // an errno value; ELOOP for a link anywhere on the way, EXDEV for a mount point
};

// The only place where anything below a root is opened. `relative` is one name or several joined by `/`, or
// `.`; it is never empty, absolute, or with `..` (which is ENOENT). Never follows a link, never leaves
// `folder`, never crosses into a mount; never makes a terminal ours or hands the file to a child. `mode` is
// for O_CREAT.
Opened open_beneath(int folder, const std::string& relative, int flags, unsigned mode, Resolver);

// What an errno value of open_beneath() or of a call on its result means for `subject` (`the host path`).
policy::Error open_error(int error, std::string_view subject);

}  // namespace enforcers
