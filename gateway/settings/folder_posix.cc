#include "gateway/settings/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/ids.h"

namespace gateway {
namespace {

tl::unexpected<policy::Error> system_error(const char* code, const std::string& what) {
  return policy::fail(code, what + ": " + std::strerror(errno));
}

Result<void> make_folders(const std::string& path, mode_t mode) {
  if (path.empty() || path.front() != '/') {
    return policy::fail("folder.relative", "`" + path + "` is not an absolute path");
  }
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      struct stat status{};
      if (::stat(part.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) continue;
      return system_error("folder.missing", "cannot make the folder `" + part + "`");
    }
  }
  return {};
}

Result<std::string> read_open_file(const Descriptor& file, const std::string& path, std::size_t max) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return policy::fail("file.unreadable", "`" + path + "` is not a regular file");
  }
  std::string bytes;
  char chunk[16384];
  while (true) {
    const ssize_t got = ::read(file.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("file.unreadable", "cannot read `" + path + "`");
    if (got == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(got));
    if (bytes.size() > max) {
      return policy::fail("file.too_large",
                          "`" + path + "` is larger than " + std::to_string(max) + " bytes");
    }
  }
}

Result<Descriptor> open_to_read(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file) return file;
  return system_error(errno == ENOENT ? "file.missing" : "file.unreadable", "cannot open `" + path + "`");
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// By a new file beside it: owner and rights are those of `like`, or 0600 and ours.
Result<void> replace_file(const std::string& path, std::string_view bytes, const struct stat* like) {
  const std::string part = path + "." + policy::random_hex32().substr(0, 12);
  Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return system_error("file.unwritable", "cannot write beside `" + path + "`");
  const bool good = write_whole(file.get(), bytes) &&
                    (like == nullptr || (::fchown(file.get(), like->st_uid, like->st_gid) == 0 &&
                                         ::fchmod(file.get(), like->st_mode & 07777) == 0)) &&
                    ::fsync(file.get()) == 0 && ::rename(part.c_str(), path.c_str()) == 0;
  if (good) return {};
  auto failed = system_error("file.unwritable", "cannot replace `" + path + "`");
  ::unlink(part.c_str());
  return failed;
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  if (auto made = make_folders(path, 0700); !made) return made;
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return policy::fail("folder.missing", "`" + path + "` is not a folder");
  }
  if (status.st_uid != ::geteuid()) {
    return policy::fail("folder.foreign", "`" + path + "` belongs to another user; set a folder of your own");
  }
  if ((status.st_mode & 022) != 0) {
    return policy::fail("folder.open_to_others",
                        "others may write to `" + path + "`; run `chmod 700` on it or set another folder");
  }
  return {};
}

Result<void> make_work_folder(const std::string& path) {
  if (auto made = make_folders(path, 0755); !made) return made;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return policy::fail("folder.missing", "`" + path + "` is not a folder");
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return policy::fail("folder.unwritable", "`" + path + "` is not writable for this user");
  }
  return {};
}

Result<std::string> read_small_file(const std::string& path, std::size_t max) {
  const auto file = open_to_read(path);
  if (!file) return tl::unexpected(file.error());
  return read_open_file(*file, path, max);
}

Result<std::string> read_secret_file(const std::string& path, std::size_t max) {
  const auto file = open_to_read(path);
  if (!file) return tl::unexpected(file.error());
  struct stat status{};
  if (::fstat(file->get(), &status) != 0 || (status.st_mode & 077) != 0) {
    return policy::fail("file.open_to_others",
                        "`" + path + "` holds a secret and others may read it; run `chmod 600` on it");
  }
  return read_open_file(*file, path, max);
}

Result<void> write_private_file(const std::string& path, const std::string& bytes) {
  return replace_file(path, bytes, nullptr);
}

Result<void> rewrite_file(const std::string& path, const std::string& bytes) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  struct stat before{};
  if (!resolved || ::stat(resolved.get(), &before) != 0)
    return system_error("file.unwritable", "cannot write `" + path + "`");
  return replace_file(resolved.get(), bytes, &before);
}

bool is_regular_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string look_of_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  const auto time = [](const timespec& at) {
    return std::to_string(at.tv_sec) + "." + std::to_string(at.tv_nsec);
  };
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + " " +
         std::to_string(status.st_size) + " " + time(status.st_mtim) + " " + time(status.st_ctim);
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_executable(const std::string& path) {
  return is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> folders_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) found.push_back(at->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return policy::fail("folder.remove", "cannot remove `" + path + "`: " + error.message());
  return {};
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_error("file.remove", "cannot remove `" + path + "`");
  }
  return {};
}

Result<Descriptor> take_lock(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return system_error("lock.open", "cannot open the lock `" + path + "`");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return policy::fail("lock.held", "another process holds `" + path + "`");
    return system_error("lock.open", "cannot lock `" + path + "`");
  }
  return file;
}

std::string own_executable() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

std::string home_of(std::uint32_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(16384, '\0');
  if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr && found->pw_dir[0] == '/') {
    return found->pw_dir;
  }
  return {};
}

std::string home_folder() {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  return home_of(::geteuid());
}

}  // namespace gateway
