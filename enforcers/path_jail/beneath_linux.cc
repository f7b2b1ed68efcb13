#include "enforcers/path_jail/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace enforcers {
namespace {

constexpr int kTries = 128;  // EAGAIN answers of the kernel while somebody renames; beyond that it is busy

int try_openat2(int folder, const char* relative, int flags, unsigned mode) {
  open_how how{};
  // O_NOFOLLOW stays away: with it and O_DIRECTORY a link is ENOTDIR instead of ELOOP.
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOCTTY);
  if ((flags & O_PATH) != 0) how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  // SAFETY: glibc has no wrapper; the kernel reads `how` and the NUL-terminated name during the call.
  return static_cast<int>(::syscall(SYS_openat2, folder, relative, &how, sizeof how));
}

Opened by_openat2(int folder, const std::string& relative, int flags, unsigned mode) {
  for (int i = 0; i < kTries; ++i) {
    const int file = try_openat2(folder, relative.c_str(), flags, mode);
    if (file >= 0) return {Descriptor(file)};
    if (errno != EAGAIN && errno != EINTR) return {{}, errno};
  }
  return {{}, EAGAIN};
}

bool is_link(int folder, const char* name) {
  struct stat facts{};
  return ::fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode);
}

// Opens one name. The kernel answers ENOTDIR for a link when a folder is wanted; that becomes ELOOP.
Opened by_one_name(int folder, const std::string& name, int flags, unsigned mode, dev_t device) {
  int file = -1;
  for (int i = 0; i < kTries && file < 0; ++i) {
    file = ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
    if (file < 0 && errno != EINTR) break;
  }
  if (file < 0) {
    const int error = errno;
    return {{}, error == ENOTDIR && is_link(folder, name.c_str()) ? ELOOP : error};
  }
  Opened opened{Descriptor(file)};
  struct stat facts{};
  if (::fstat(file, &facts) != 0) return {{}, errno};
  if (S_ISLNK(facts.st_mode)) return {{}, ELOOP};  // O_PATH opens a link itself
  if (facts.st_dev != device) return {{}, EXDEV};
  return opened;
}

Opened by_chain(int folder, const std::string& relative, int flags, unsigned mode) {
  struct stat facts{};
  if (::fstat(folder, &facts) != 0) return {{}, errno};
  Opened at;
  int parent = folder;
  std::string_view rest = relative;
  while (true) {
    const auto slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    if (name.empty() || name == "..") return {{}, ENOENT};
    if (slash == std::string_view::npos) return by_one_name(parent, name, flags, mode, facts.st_dev);
    at = by_one_name(parent, name, O_PATH | O_DIRECTORY, 0, facts.st_dev);
    if (at.error != 0) return at;
    parent = at.file.number();
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace

Resolver probe_resolver(int folder) {
  const Opened opened = by_openat2(folder, ".", O_PATH | O_DIRECTORY, 0);
  return opened.error == 0 ? Resolver::openat2 : Resolver::chain;
}

Opened open_beneath(int folder, const std::string& relative, int flags, unsigned mode, Resolver resolver) {
  return resolver == Resolver::openat2 ? by_openat2(folder, relative, flags, mode)
                                       : by_chain(folder, relative, flags, mode);
}

policy::Error open_error(int error, std::string_view subject) {
  const auto say = [&](const char* code, const char* text) {
    return policy::Error{code, std::string(subject) + " " + text};
  };
  switch (error) {
    case ELOOP:
      return say("path.link", "is or leads through a link, and links are never followed; use the real file");
    case ENOENT:
      return say("path.not_found", "does not exist; check the name");
    case ENOTDIR:
      return say("path.not_folder", "uses a file as a folder; name a folder there");
    case EISDIR:
      return say("path.not_file", "is a folder; name a file");
    case EXDEV:
      return say("path.mount", "leads into another file system; copy it to the transfer folder itself");
    case ENXIO:
    case ENODEV:
      return say("path.special", "is a device, pipe or socket; only files and folders are copied");
    case EEXIST:
      return say("path.exists", "exists already; name another place");
    case EACCES:
    case EPERM:
      return say("path.denied", "may not be opened by the gateway's user; change its permissions");
    case EROFS:
      return say("path.read_only", "is on a read-only file system; choose another transfer folder");
    case ENAMETOOLONG:
      return say("path.too_long", "is too long for this file system; use a shorter name");
    case EAGAIN:
      return say("path.busy", "was being renamed all the time; try again when it stands still");
    case ENOSPC:
    case EDQUOT:
      return say("path.disk_full", "does not fit; free space on the disk of the transfer folder");
    case EMFILE:
    case ENFILE:
      return say("path.busy", "could not be opened, too many files are open; try again later");
    default:
      return say("path.failed", std::strerror(error));
  }
}

}  // namespace enforcers
