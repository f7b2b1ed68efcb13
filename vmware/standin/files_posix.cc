#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "vmware/standin/file_errors.h"
#include "vmware/standin/files.h"

namespace standin {
namespace {

using policy::fail;

Result<Fd> open_plain(const std::string& path, struct stat& info) {
  Fd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return io_failure(errno);
  if (fstat(fd.get(), &info) != 0) return io_failure(errno);
  if (!S_ISREG(info.st_mode)) return fail("file.kind", "not a regular file");
  return fd;
}

}  // namespace

tl::unexpected<policy::Error> io_failure(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return fail("file.absent", "no such file");
    case EACCES:
    case EPERM:
    case EROFS:
      return fail("file.denied", "access denied");
    case ELOOP:
      return fail("file.kind", "the file is a link");
    case ENAMETOOLONG:
      return fail("file.name", "the name is too long");
    case EEXIST:
    case ENOTEMPTY:
      return fail("file.exists", "the file exists");
    default:
      return fail("file.io", std::string("input or output failed (error ") + std::to_string(error) + ")");
  }
}

int left_ms(Deadline deadline) {
  const auto left = std::chrono::duration_cast<Millis>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

void pause_for(Millis wait) {
  timespec time{wait.count() / 1000, (wait.count() % 1000) * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() { return std::exchange(fd_, -1); }

void Fd::reset() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

std::string FileIdentity::text() const {
  std::array<char, 40> buffer{};
  const int length =
      snprintf(buffer.data(), buffer.size(), "%llx-%llx", static_cast<unsigned long long>(device),
               static_cast<unsigned long long>(inode));
  return {buffer.data(), static_cast<std::size_t>(length)};
}

Result<std::string> read_small_file(const std::string& path, std::size_t limit) {
  struct stat info{};
  auto fd = open_plain(path, info);
  if (!fd) return tl::unexpected(fd.error());
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = read(fd->get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure(errno);
    if (got == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (bytes.size() > limit) return fail("file.size", "the file is too large");
  }
}

Result<std::string> read_head(const std::string& path, std::size_t limit) {
  struct stat info{};
  auto fd = open_plain(path, info);
  if (!fd) return tl::unexpected(fd.error());
  std::string bytes(limit, '\0');
  const ssize_t got = pread(fd->get(), bytes.data(), limit, 0);
  if (got < 0) return io_failure(errno);
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

Result<FileIdentity> identity_of(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return io_failure(errno);
  return FileIdentity{info.st_dev, info.st_ino};
}

bool is_plain_file(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool exists(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0;
}

Result<std::string> canonical_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> whole(realpath(path.c_str(), nullptr), &free);
  if (whole) return std::string(whole.get());
  const std::string name = base_name(path);
  if (errno != ENOENT || name.empty() || name == "." || name == "..") return io_failure(errno);
  const std::unique_ptr<char, decltype(&free)> folder(realpath(folder_of(path).c_str(), nullptr), &free);
  if (!folder) return io_failure(errno);
  const std::string parent = folder.get();
  return (parent == "/" ? "" : parent) + "/" + name;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Result<> make_private_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io_failure(errno);
  if (is_private_folder(path)) return {};
  return fail("file.denied", "the folder `" + path + "` must be a folder of this user with mode 0700");
}

bool is_private_folder(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 077) == 0;
}

Result<> make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0) return io_failure(errno);
  return {};
}

Result<Fd> make_file(const std::string& path) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return io_failure(errno);
  return fd;
}

Result<> remove_file(const std::string& path) {
  if (unlink(path.c_str()) != 0) return io_failure(errno);
  return {};
}

bool remove_empty_folder(const std::string& path) { return rmdir(path.c_str()) == 0; }

Result<> make_read_only(const std::string& path) {
  if (chmod(path.c_str(), 0444) != 0) return io_failure(errno);
  return {};
}

Result<> make_writable(const std::string& path) {
  if (chmod(path.c_str(), 0600) != 0) return io_failure(errno);
  return {};
}

Result<> sync_file(const std::string& path) {
  struct stat info{};
  const auto fd = open_plain(path, info);
  if (!fd) return tl::unexpected(fd.error());
  if (fdatasync(fd->get()) != 0) return io_failure(errno);
  const Fd folder(open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)fsync(folder.get());
  return {};
}

Result<Fd> open_file(const std::string& path) {
  struct stat info{};
  return open_plain(path, info);
}

Result<> rename_file(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return io_failure(errno);
  return {};
}

std::vector<std::string> names_in(const std::string& folder, std::size_t limit) {
  std::vector<std::string> names;
  struct Close {
    void operator()(DIR* open_folder) const { closedir(open_folder); }
  };
  const std::unique_ptr<DIR, Close> handle(opendir(folder.c_str()));
  if (!handle) return names;
  while (const dirent* entry = readdir(handle.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= limit) break;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

enum class Missing { is_made, fails };

Result<Fd> lock(const std::string& path, Deadline deadline, Missing missing) {
  Millis wait{1};
  for (;;) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd && errno == ENOENT && missing == Missing::is_made) {
      fd = Fd(open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    }
    if (!fd) return io_failure(errno);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      struct stat held{}, named{};
      // Who held it before may have removed the file; a lock on what has no name any more binds nobody.
      if (fstat(fd.get(), &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
          held.st_ino == named.st_ino) {
        return fd;
      }
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return io_failure(errno);
    }
    if (left_ms(deadline) == 0) return fail("file.busy", "the file is locked");
    pause_for(wait);
    wait = std::min(wait * 2, Millis{50});
  }
}

}  // namespace

Result<Fd> lock_path(const std::string& path, Deadline deadline) {
  return lock(path, deadline, Missing::is_made);
}

Result<Fd> lock_existing(const std::string& path, Deadline deadline) {
  return lock(path, deadline, Missing::fails);
}

bool is_locked(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return false;
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace standin
