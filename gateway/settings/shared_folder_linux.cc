#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "gateway/settings/folder.h"

namespace gateway {
namespace {

tl::unexpected<policy::Error> system_error(const char* code, const std::string& what) {
  return policy::fail(code, what + ": " + std::strerror(errno));
}

// The kernel's own form of an access control list (linux/posix_acl_xattr.h), little-endian like our hosts.
struct AclEntry {
  std::uint16_t tag;
  std::uint16_t rights;
  std::uint32_t id;
};
constexpr std::uint32_t kAclVersion = 2;
constexpr std::uint32_t kNoId = 0xFFFFFFFF;
constexpr std::uint16_t kOwner = 0x01, kUser = 0x02, kGroup = 0x04, kMask = 0x10, kOther = 0x20;
constexpr std::uint16_t kAll = 7;

template <std::size_t N>
std::string encode(const std::array<AclEntry, N>& entries) {
  std::string bytes(sizeof kAclVersion + N * sizeof(AclEntry), '\0');
  std::memcpy(bytes.data(), &kAclVersion, sizeof kAclVersion);
  std::memcpy(bytes.data() + sizeof kAclVersion, entries.data(), N * sizeof(AclEntry));
  return bytes;
}

bool set_list(int folder, const char* name, const std::string& list) {
  return ::fsetxattr(folder, name, list.data(), list.size(), 0) == 0;
}

policy::Error untrusted(const std::string& path, const char* why) {
  return {"file.untrusted", "`" + path + "` " + why + "; mend it or take it away", ""};
}

Result<void> trusted_entry(const std::string& path, std::uint32_t trusted, mode_t kind) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0)
    return system_error("folder.unreadable", "cannot look at `" + path + "`");
  if ((status.st_mode & S_IFMT) != kind) {
    return tl::unexpected(untrusted(path, kind == S_IFDIR ? "is no folder" : "is no plain file"));
  }
  if (status.st_uid != trusted) {
    return tl::unexpected(
        untrusted(path, trusted == 0 ? "does not belong to root" : "belongs to another user"));
  }
  if ((status.st_mode & 022) != 0) return tl::unexpected(untrusted(path, "may be written by others"));
  return {};
}

}  // namespace

Result<std::vector<std::string>> trusted_files_below(const std::string& folder, const std::string& suffix,
                                                     std::uint32_t trusted) {
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0 && errno == ENOENT) return std::vector<std::string>();
  if (auto good = trusted_entry(folder, trusted, S_IFDIR); !good) return tl::unexpected(good.error());
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    std::string path = at->path().string();
    if (!path.ends_with(suffix)) continue;
    if (auto good = trusted_entry(path, trusted, S_IFREG); !good) return tl::unexpected(good.error());
    found.push_back(std::move(path));
  }
  if (error)
    return policy::fail("folder.unreadable", "cannot read the folder `" + folder + "`: " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> make_shared_folder(const std::string& path, std::uint32_t user) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error("folder.missing", "cannot make the folder `" + path + "`");
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!folder || ::fstat(folder.get(), &status) != 0)
    return system_error("folder.missing", "cannot open the folder `" + path + "`");
  const std::uint32_t self = ::geteuid();
  if (status.st_uid != self) {
    return policy::fail("folder.foreign", "`" + path + "` belongs to another user; move it away");
  }
  const std::array<AclEntry, 5> now{{{kOwner, kAll, kNoId},
                                     {kUser, kAll, user},
                                     {kGroup, 0, kNoId},
                                     {kMask, kAll, kNoId},
                                     {kOther, 0, kNoId}}};
  // What the user makes in it belongs to the user: we need an entry of our own there. Sorted by number.
  const std::array<AclEntry, 6> later{{{kOwner, kAll, kNoId},
                                       {kUser, kAll, std::min(self, user)},
                                       {kUser, kAll, std::max(self, user)},
                                       {kGroup, 0, kNoId},
                                       {kMask, kAll, kNoId},
                                       {kOther, 0, kNoId}}};
  if (!set_list(folder.get(), "system.posix_acl_access", encode(now)) ||
      !set_list(folder.get(), "system.posix_acl_default", encode(later))) {
    return system_error("folder.acl", "cannot give the user access to `" + path +
                                          "`; it must lie on a file system with access control lists");
  }
  return {};
}

Result<void> make_exchange_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) return system_error("folder.missing", "cannot make `" + path + "`");
  return {};
}

Result<void> write_exchange_file(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file || ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return system_error("file.unwritable", "cannot write `" + path + "`");
  }
  return {};
}

bool is_there(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

Result<std::uint64_t> free_bytes(const std::string& folder) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0)
    return system_error("folder.unreadable", "cannot ask the disk of `" + folder + "`");
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

Result<std::uint32_t> group_number(const std::string& name) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (!name.empty() && error == std::errc() && end == name.data() + name.size()) return number;
  group entry{};
  group* found = nullptr;
  std::string buffer(65536, '\0');
  if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return policy::fail("group.unknown", "there is no group `" + name +
                                             "`; make it with `addgroup --system " + name +
                                             "`, or set `service_group`");
  }
  return found->gr_gid;
}

}  // namespace gateway
