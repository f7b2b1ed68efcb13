#include "enforcers/path_jail/jail.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace enforcers {
namespace {

using policy::Error;
using policy::fail;
using policy::HostPath;

constexpr std::string_view kHostPath = "the host path";
constexpr int kMaxParents = 4096;

tl::unexpected<Error> refuse(int error) { return tl::unexpected<Error>(open_error(error, kHostPath)); }

Identity identity_of(const struct stat& facts) {
  return {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
}

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMost = INT64_MAX / kSecond - 1;
  return std::clamp<std::int64_t>(time.tv_sec, -kMost, kMost) * kSecond + time.tv_nsec;
}

Descriptor open_root(const std::string& root) {
  return Descriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The kernel's form of an access control list: a version, then entries (linux/posix_acl_xattr.h).
struct AclEntry {
  std::uint16_t tag;
  std::uint16_t rights;
  std::uint32_t id;
};

// Whether the list of a folder gives rights to its owner, to us and to one other user, and to nobody else.
bool only_shared_with(int folder, std::uint32_t user) {
  constexpr std::uint16_t kOwner = 0x01, kUser = 0x02, kMask = 0x10;
  const Descriptor readable(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char list[sizeof(std::uint32_t) + 16 * sizeof(AclEntry)];
  if (!readable) return false;
  const ssize_t size = ::fgetxattr(readable.number(), "system.posix_acl_access", list, sizeof list);
  if (size < static_cast<ssize_t>(sizeof(std::uint32_t))) return false;
  for (std::size_t at = sizeof(std::uint32_t); at + sizeof(AclEntry) <= static_cast<std::size_t>(size);
       at += sizeof(AclEntry)) {
    AclEntry entry{};
    std::memcpy(&entry, list + at, sizeof entry);
    const bool known = entry.tag == kOwner || entry.tag == kMask ||
                       (entry.tag == kUser && (entry.id == user || entry.id == ::geteuid()));
    if (!known && entry.rights != 0) return false;
  }
  return true;
}

}  // namespace

Result<FileFacts> facts_of(const Descriptor& file, std::string_view subject) {
  struct stat facts{};
  if (::fstat(file.number(), &facts) != 0) return tl::unexpected<Error>(open_error(errno, subject));
  if (S_ISLNK(facts.st_mode)) return tl::unexpected<Error>(open_error(ELOOP, subject));
  if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    return tl::unexpected<Error>(open_error(ENXIO, subject));
  }
  FileFacts found;
  found.kind = S_ISDIR(facts.st_mode) ? Kind::folder : Kind::file;
  found.identity = identity_of(facts);
  found.size = found.kind == Kind::file ? static_cast<std::uint64_t>(facts.st_size) : 0;
  found.links = static_cast<std::uint64_t>(facts.st_nlink);
  found.modified = nanoseconds(facts.st_mtim);
  found.changed = nanoseconds(facts.st_ctim);
  found.executable = found.kind == Kind::file && (facts.st_mode & S_IXUSR) != 0;
  return found;
}

Result<std::shared_ptr<const Jail>> Jail::open(const std::string& root, std::optional<Resolver> resolver,
                                               std::optional<std::uint32_t> shared_with) {
  std::string path = root;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty() || path.front() != '/') {
    return fail("path.root", "the transfer folder is not an absolute path; write it from `/` on");
  }
  Descriptor handle = open_root(path);
  if (!handle) {
    const int error = errno;
    struct stat link{};
    if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode)) {
      return fail("path.root", "the transfer folder `" + path + "` is a link; name the real folder");
    }
    return fail("path.root", "the transfer folder `" + path + "` cannot be opened (" + std::strerror(error) +
                                 "); make it, or name another one");
  }
  struct stat facts{};
  if (::fstat(handle.number(), &facts) != 0) {
    return fail("path.root",
                "the transfer folder `" + path + "` cannot be examined: " + std::strerror(errno));
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return fail("path.root", "the transfer folder `" + path + "` belongs to uid " +
                                 std::to_string(facts.st_uid) + "; use a folder of the gateway's own user");
  }
  if (shared_with && !only_shared_with(handle.number(), *shared_with)) {
    return fail("path.root", "the transfer folder `" + path + "` is open to others than uid " +
                                 std::to_string(*shared_with) + "; have an administrator move it away");
  }
  if (!shared_with && (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail("path.root", "the transfer folder `" + path +
                                 "` may be written to by other users; run `chmod go-w` on it");
  }
  const Resolver chosen = resolver ? *resolver : probe_resolver(handle.number());
  return std::shared_ptr<const Jail>(new Jail(path, std::move(handle), identity_of(facts), chosen,
                                              shared_with ? Sharing::with_one : Sharing::with_nobody));
}

Result<void> Jail::still_there() const {
  const Descriptor now = open_root(root_);
  struct stat facts{};
  if (!now || ::fstat(now.number(), &facts) != 0 || identity_of(facts) != identity_) {
    return fail(
        "path.root_changed",
        "the transfer folder was moved or replaced since the start; put it back or restart the gateway");
  }
  return {};
}

Result<Source> Jail::open_source(const HostPath& path) const {
  if (auto there = still_there(); !there) return tl::unexpected(there.error());
  int flags = O_RDONLY | O_NONBLOCK;
  if (path.names_folder()) flags |= O_DIRECTORY;
  Opened opened = open_beneath(handle_.number(), path.text(), flags, 0, resolver_);
  if (opened.error != 0) return refuse(opened.error);
  auto facts = facts_of(opened.file, kHostPath);
  if (!facts) return tl::unexpected(facts.error());
  if (facts->kind == Kind::file && facts->links != 1) {
    return fail("path.hard_link",
                "the host path is a file with more than one name, which may be known outside the transfer "
                "folder; copy it to a new file first");
  }
  return Source{std::move(opened.file), *facts};
}

Result<Destination> Jail::find_destination(const HostPath& path) const {
  if (path.is_root()) {
    return fail("path.root",
                "the transfer folder itself is no destination; name a file or folder inside it, "
                "such as `results`");
  }
  if (auto there = still_there(); !there) return tl::unexpected(there.error());
  Opened at = open_beneath(handle_.number(), ".", O_PATH | O_DIRECTORY, 0, resolver_);
  if (at.error != 0) return refuse(at.error);

  Destination found;
  const auto& components = path.components();
  for (const auto& name : components) {
    const bool last = found.existing + 1 == components.size();
    const int flags = last && !path.names_folder() ? O_PATH : O_PATH | O_DIRECTORY;
    Opened next = open_beneath(at.file.number(), name, flags, 0, resolver_);
    if (next.error == ENOENT) break;
    if (next.error != 0) return refuse(next.error);
    const auto facts = facts_of(next.file, kHostPath);
    if (!facts) return tl::unexpected(facts.error());
    if (last) found.present = facts->kind;
    if (facts->kind == Kind::file) break;
    at = std::move(next);
    ++found.existing;
  }
  if (::faccessat(at.file.number(), ".", W_OK | X_OK, AT_EACCESS) != 0) return refuse(errno);
  found.folder = std::move(at.file);
  return found;
}

Result<bool> lies_within(const std::string& inner, const std::string& outer) {
  const auto open_folder = [](const std::string& path) {
    return Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  };
  const auto unreadable = [](const std::string& path) {
    return fail("path.root", "the folder `" + path + "` cannot be examined (" + std::strerror(errno) +
                                 "); make it, or name another one");
  };
  struct stat facts{};
  const Descriptor goal = open_folder(outer);
  if (!goal || ::fstat(goal.number(), &facts) != 0) return unreadable(outer);
  const Identity wanted = identity_of(facts);
  Descriptor at = open_folder(inner);
  if (!at || ::fstat(at.number(), &facts) != 0) return unreadable(inner);
  for (int i = 0; i < kMaxParents; ++i) {
    const Identity here = identity_of(facts);
    if (here == wanted) return true;
    Descriptor parent(::openat(at.number(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent || ::fstat(parent.number(), &facts) != 0) return unreadable(inner);
    if (identity_of(facts) == here) return false;
    at = std::move(parent);
  }
  return true;
}

Result<bool> overlap(const std::string& a, const std::string& b) {
  const auto one = lies_within(a, b);
  if (!one || *one) return one;
  return lies_within(b, a);
}

Result<std::vector<std::string>> names_in(const Descriptor& folder, std::size_t most, Resolver resolver) {
  // A descriptor of its own, one that reads from the beginning.
  Opened again = open_beneath(folder.number(), ".", O_RDONLY | O_DIRECTORY, 0, resolver);
  if (again.error != 0) return refuse(again.error);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(again.file.number()), ::closedir);
  if (!listing) return refuse(errno);
  (void)again.file.release();  // closedir() closes it
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    if (names.size() == most) {
      return fail("copy.too_many_files",
                  "a folder holds more than " + std::to_string(most) + " names; copy fewer files at a time");
    }
    names.emplace_back(name);
  }
  if (errno != 0) return refuse(errno);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace enforcers
