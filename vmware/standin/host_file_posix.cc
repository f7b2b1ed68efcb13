#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "vmware/standin/file_errors.h"
#include "vmware/standin/files.h"

namespace standin {
namespace {

using policy::fail;

// How the names of files in the making end, as mkostemp wants it, and how much of that is random.
constexpr std::string_view kInTheMaking = ".vmrun-XXXXXX";
constexpr std::size_t kRandom = 6;
constexpr std::size_t kLongestName = 255;
constexpr int kMostTries = 16;

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io_failure(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The name of a file in the making for `path`, with the X still in it. One for a long name keeps only as much
// of it as there is room for.
std::string name_in_the_making(const std::string& path) {
  return base_name(path).substr(0, kLongestName - kInTheMaking.size()) + std::string(kInTheMaking);
}

// Its maker holds a lock on it, and the lock goes with him.
bool is_abandoned(const std::string& path) {
  struct stat info{};
  const Fd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return fd && fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 0777) == 0600 &&
         info.st_uid == geteuid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

// What writers of `path` left beside it when they were killed.
void remove_abandoned(const std::string& path) {
  constexpr std::size_t kMostNames = 10000;
  const std::string pattern = name_in_the_making(path);
  const std::string begin = pattern.substr(0, pattern.size() - kRandom);
  for (const std::string& name : names_in(folder_of(path), kMostNames)) {
    if (name.size() != pattern.size() || !name.starts_with(begin)) continue;
    const std::string other = folder_of(path) + "/" + name;
    if (is_abandoned(other)) unlink(other.c_str());
  }
}

// A new file beside `path`, 0600 and locked; its name is put into `name`.
Result<Fd> temporary_beside(const std::string& path, std::string& name) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  for (int i = 0; i < kMostTries; ++i) {
    name = folder + name_in_the_making(path);
    Fd fd(mkostemp(name.data(), O_CLOEXEC));
    if (!fd) return io_failure(errno);
    struct stat held{}, named{};
    // Before it was locked it looked abandoned.
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && fstat(fd.get(), &held) == 0 &&
        lstat(name.c_str(), &named) == 0 && held.st_dev == named.st_dev && held.st_ino == named.st_ino) {
      return fd;
    }
    unlink(name.c_str());
  }
  return fail("file.busy", "a file in the making is taken away again and again");
}

Result<> sync_and_rename(const Fd& fd, const std::string& from, const std::string& to) {
  if (fdatasync(fd.get()) != 0 || rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    unlink(from.c_str());
    return io_failure(error);
  }
  const Fd folder(open(folder_of(to).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)fsync(folder.get());
  return {};
}

// Nothing is there, or a regular file.
Result<> can_be_replaced(const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  if (S_ISDIR(info.st_mode)) return fail("file.exists", "a folder is there");
  return fail("file.special", "`" + path +
                                  "` is a link, a device, a pipe or a socket, which is neither written to "
                                  "nor replaced; name a regular file or one that is not there yet");
}

}  // namespace

Result<> write_file_atomically(const std::string& path, std::string_view bytes) {
  remove_abandoned(path);
  std::string temporary;
  auto fd = temporary_beside(path, temporary);
  if (!fd) return tl::unexpected(fd.error());
  if (auto written = write_all(fd->get(), bytes); !written) {
    unlink(temporary.c_str());
    return written;
  }
  return sync_and_rename(*fd, temporary, path);
}

Result<> place_file(const Fd& fd, const std::string& from, const std::string& to) {
  return sync_and_rename(fd, from, to);
}

Result<> copy_file(const std::string& from, const std::string& to, std::uint64_t limit) {
  auto source = open_file(from);
  if (!source) return tl::unexpected(source.error());
  HostFile target;
  if (auto opened = target.create(to); !opened) return opened;
  std::string buffer(1 << 18, '\0');
  std::uint64_t copied = 0;
  for (;;) {
    const ssize_t got = read(source->get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure(errno);
    if (got == 0) return target.finish();
    copied += static_cast<std::uint64_t>(got);
    if (copied > limit) return fail("file.size", "the file is too large");
    if (auto written = target.append({buffer.data(), static_cast<std::size_t>(got)}); !written)
      return written;
  }
}

HostFile::~HostFile() {
  if (fd_) unlink(temporary_.c_str());
}

Result<> HostFile::create(const std::string& path) {
  if (auto replaceable = can_be_replaced(path); !replaceable) return replaceable;
  remove_abandoned(path);
  path_ = path;
  auto fd = temporary_beside(path, temporary_);
  if (!fd) return tl::unexpected(fd.error());
  fd_ = std::move(*fd);
  return {};
}

Result<> HostFile::append(std::string_view bytes) { return write_all(fd_.get(), bytes); }

Result<> HostFile::finish() {
  // Something else may stand there by now.
  if (auto replaceable = can_be_replaced(path_); !replaceable) return replaceable;
  auto done = sync_and_rename(fd_, temporary_, path_);
  fd_.reset();
  return done;
}

Result<> HostSource::open(const std::string& path) {
  struct stat info{};
  // Links are followed here: the path is the caller's own word for a file of his.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd || fstat(fd.get(), &info) != 0) return io_failure(errno);
  if (!S_ISREG(info.st_mode)) return fail("file.kind", "not a regular file");
  fd_ = std::move(fd);
  size_ = static_cast<std::uint64_t>(info.st_size);
  return {};
}

Result<std::string> HostSource::next(std::size_t limit) {
  std::string bytes(limit, '\0');
  std::size_t filled = 0;
  while (filled < limit) {
    const ssize_t got = read(fd_.get(), bytes.data() + filled, limit - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure(errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace standin
