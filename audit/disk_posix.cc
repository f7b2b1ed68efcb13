#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/disk.h"

namespace audit {
namespace {

using policy::fail;
using policy::Result;

constexpr std::size_t kMaxNames = 100'000;

class Descriptor final {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string why() { return std::system_category().message(errno); }

template <class Call>
auto again(Call call) {
  auto result = call();
  for (int i = 0; i < 100 && result < 0 && errno == EINTR; ++i) result = call();
  return result;
}

class PosixFile final : public File {
 public:
  PosixFile(std::string name, Descriptor fd) : name_(std::move(name)), fd_(std::move(fd)) {}

  Result<std::size_t> append(std::string_view bytes) override {
    const auto n = again([&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
    if (n < 0) return fail("audit.write", "cannot write `" + name_ + "`: " + why());
    if (n == 0) return fail("audit.write", "cannot write `" + name_ + "`: nothing was written");
    return static_cast<std::size_t>(n);
  }
  Result<void> truncate(std::uint64_t size) override {
    if (again([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0)
      return fail("audit.disk", "cannot shorten `" + name_ + "`: " + why());
    return {};
  }
  // Not repeated when interrupted: a second call could report success for data that was dropped.
  Result<void> sync() override {
    if (::fdatasync(fd_.get()) != 0)
      return fail("audit.disk", "cannot flush `" + name_ + "` to disk: " + why());
    return {};
  }
  Result<std::uint64_t> size() override {
    struct stat st{};
    if (::fstat(fd_.get(), &st) != 0) return fail("audit.disk", "cannot look at `" + name_ + "`: " + why());
    return static_cast<std::uint64_t>(st.st_size);
  }
  Result<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    const auto n =
        again([&] { return ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset)); });
    if (n < 0) return fail("audit.disk", "cannot read `" + name_ + "`: " + why());
    return static_cast<std::size_t>(n);
  }

 private:
  std::string name_;
  Descriptor fd_;
};

Result<std::unique_ptr<File>> open_in(int folder, const std::string& name, Disk::Open how) {
  const int flags = how == Disk::Open::read     ? O_RDONLY | O_NONBLOCK
                    : how == Disk::Open::append ? O_RDWR | O_APPEND
                                                : O_RDWR | O_APPEND | O_CREAT;
  Descriptor fd(again([&] { return ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600); }));
  if (!fd) return fail("audit.disk", "cannot open `" + name + "`: " + why());
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return fail("audit.disk", "cannot look at `" + name + "`: " + why());
  if (!S_ISREG(st.st_mode)) return fail("audit.disk", "`" + name + "` is not a regular file");
  if (how != Disk::Open::read && (st.st_uid != ::geteuid() || (st.st_mode & 0077) != 0 || st.st_nlink != 1)) {
    return fail("audit.disk",
                "`" + name + "` belongs to another user, is open to others, or has a second name");
  }
  if (how == Disk::Open::create && st.st_size != 0)
    return fail("audit.disk", "`" + name + "` exists and is not empty");
  return std::make_unique<PosixFile>(name, std::move(fd));
}

class PosixDisk final : public Disk {
 public:
  PosixDisk(Descriptor folder, Descriptor lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  Result<std::vector<std::string>> list() override {
    const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = copy < 0 ? nullptr : ::fdopendir(copy);
    if (stream == nullptr) {
      const auto error = fail("audit.disk", "cannot list the log's folder: " + why());
      if (copy >= 0) ::close(copy);
      return error;
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      if (names.size() == kMaxNames) {
        ::closedir(stream);
        return fail("audit.disk", "the log's folder holds more than 100000 files");
      }
      names.emplace_back(entry->d_name);
    }
    const int error = errno;
    ::closedir(stream);
    errno = error;
    if (error != 0) return fail("audit.disk", "cannot list the log's folder: " + why());
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::unique_ptr<File>> open(const std::string& name, Open how) override {
    return open_in(folder_.get(), name, how);
  }

  Result<std::unique_ptr<File>> set_aside(const std::string& name) override {
    if (::mkdirat(folder_.get(), "torn", 0700) != 0 && errno != EEXIST)
      return fail("audit.disk", "cannot make `torn`: " + why());
    const Descriptor torn(::openat(folder_.get(), "torn", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!torn) return fail("audit.disk", "cannot open `torn`: " + why());
    return open_in(torn.get(), name, Open::create);
  }

  Result<void> sync_names() override {
    if (::fsync(folder_.get()) != 0)
      return fail("audit.disk", "cannot flush the log's folder to disk: " + why());
    return {};
  }

  bool owned_elsewhere() override {
    if (lock_) return false;
    const Descriptor lock(::openat(folder_.get(), "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }

 private:
  Descriptor folder_;
  Descriptor lock_;  // held for life by the writer, absent in a reader
};

Result<Descriptor> open_folder(const std::string& folder) {
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail("audit.folder", "cannot open the log's folder: " + why());
  return fd;
}

std::string first_line(const char* path) {
  const Descriptor fd(::open(path, O_RDONLY | O_CLOEXEC));
  char bytes[256];
  const auto n = fd ? ::read(fd.get(), bytes, sizeof bytes) : -1;
  const std::string_view text(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

Result<std::unique_ptr<Disk>> own_disk(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail("audit.folder", "cannot make the log's folder: " + why());
  auto fd = open_folder(folder);
  if (!fd) return tl::unexpected(fd.error());
  struct stat st{};
  if (::fstat(fd->get(), &st) != 0) return fail("audit.folder", "cannot look at the log's folder: " + why());
  if (st.st_uid != ::geteuid())
    return fail("audit.folder", "the log's folder belongs to another user; choose one of your own");
  if ((st.st_mode & 0022) != 0)
    return fail("audit.folder", "the log's folder can be written by others; `chmod 700` it");
  Descriptor lock(::openat(fd->get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock) return fail("audit.folder", "cannot open the log's `lock`: " + why());
  if (again([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return fail("audit.folder", "cannot lock the log's folder: " + why());
    return fail("audit.owned", "another process is writing this log; only one may");
  }
  return std::make_unique<PosixDisk>(std::move(*fd), std::move(lock));
}

Result<std::unique_ptr<Disk>> review_disk(const std::string& folder) {
  auto fd = open_folder(folder);
  if (!fd) return tl::unexpected(fd.error());
  return std::make_unique<PosixDisk>(std::move(*fd), Descriptor());
}

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace audit
