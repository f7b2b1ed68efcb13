#include "vmware/host_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "vmware/vmx.h"

namespace vmware {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxRemoved = 100'000;

class Descriptor final {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

tl::unexpected<policy::Error> io_error(std::string_view what, std::string_view path, int error) {
  std::string code = "file.io";
  if (error == ENOENT) code = "file.missing";
  if (error == EEXIST || error == ENOTEMPTY) code = "file.exists";
  if (error == ELOOP) code = "file.kind";
  return policy::fail(std::move(code), "cannot " + std::string(what) + " `" + std::string(path) +
                                           "`: " + std::strerror(error));
}

std::pair<std::string, std::string> split(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

policy::Result<Descriptor> open_regular(const std::string& path, struct stat& found) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.open()) return io_error("open", path, errno);
  if (::fstat(file.get(), &found) != 0) return io_error("look at", path, errno);
  if (!S_ISREG(found.st_mode) || found.st_nlink != 1) {
    return policy::fail("file.kind", "`" + path + "` is not a regular file with one name");
  }
  return file;
}

class Folder final {
 public:
  explicit Folder(int fd) : stream_(::fdopendir(fd)) {
    if (stream_ == nullptr) ::close(fd);
  }
  ~Folder() {
    if (stream_ != nullptr) ::closedir(stream_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  bool open() const { return stream_ != nullptr; }
  int fd() const { return ::dirfd(stream_); }
  // Empty at the end.
  std::string next() {
    while (const dirent* entry = ::readdir(stream_)) {
      const std::string name(entry->d_name);
      if (name != "." && name != "..") return name;
    }
    return {};
  }

 private:
  DIR* stream_;
};

policy::Result<> empty_folder(int fd, int depth, std::size_t& budget, std::string_view last) {
  Folder folder(fd);
  if (!folder.open()) return policy::fail("file.io", "cannot read a folder to remove it");
  if (depth > kMaxDepth) return policy::fail("file.kind", "a folder to remove is nested too deep");
  std::vector<std::string> names;
  for (auto name = folder.next(); !name.empty(); name = folder.next()) {
    if (names.size() >= budget) return policy::fail("file.size", "a folder to remove holds too many entries");
    names.push_back(std::move(name));
  }
  budget -= names.size();
  std::partition(names.begin(), names.end(), [&](const std::string& name) { return name != last; });
  for (const auto& name : names) {
    if (::unlinkat(folder.fd(), name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return io_error("remove", name, errno);
    const int child = ::openat(folder.fd(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0) return io_error("open", name, errno);
    if (auto emptied = empty_folder(child, depth + 1, budget, {}); !emptied) return emptied;
    if (::unlinkat(folder.fd(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      return io_error("remove", name, errno);
    }
  }
  return {};
}

class HeldLock final : public FileLock {
 public:
  explicit HeldLock(Descriptor file) : file_(std::move(file)) {}
  void touch() override { (void)::futimens(file_.get(), nullptr); }

 private:
  Descriptor file_;
};

policy::Result<std::unique_ptr<FileLock>> lock_now(Descriptor file, const std::string& path) {
  if (!file.open()) return io_error("open", path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return nullptr;
    return io_error("lock", path, errno);
  }
  return std::make_unique<HeldLock>(std::move(file));
}

policy::Result<> flush_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open() || ::fsync(folder.get()) != 0) return io_error("flush", path, errno);
  return {};
}

policy::Result<> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error("write", path, n == 0 ? EIO : errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

policy::Result<std::string> read_up_to(const Descriptor& file, const std::string& path, std::size_t most) {
  std::string bytes(most, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("read", path, errno);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

policy::Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  struct stat found{};
  auto file = open_regular(path, found);
  if (!file) return tl::unexpected(file.error());
  const auto too_large = policy::fail("file.size", "`" + path + "` is larger than expected");
  if (static_cast<std::uint64_t>(found.st_size) > max_bytes) return too_large;
  const auto size = static_cast<std::size_t>(found.st_size);
  auto bytes = read_up_to(*file, path, size + 1);
  if (bytes && bytes->size() > size) return too_large;  // it grew while we read
  return bytes;
}

policy::Result<std::string> read_head(const std::string& path, std::size_t wanted) {
  struct stat found{};
  auto file = open_regular(path, found);
  if (!file) return tl::unexpected(file.error());
  return read_up_to(*file, path, std::min(wanted, static_cast<std::size_t>(found.st_size)));
}

policy::Result<std::string> read_part(const std::string& path, std::uint64_t offset, std::size_t wanted) {
  struct stat found{};
  auto file = open_regular(path, found);
  if (!file) return tl::unexpected(file.error());
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (offset >= size) return std::string();
  if (::lseek(file->get(), static_cast<off_t>(offset), SEEK_SET) < 0) return io_error("read", path, errno);
  return read_up_to(*file, path, std::min(wanted, static_cast<std::size_t>(size - offset)));
}

policy::Result<std::uint64_t> size_of(const std::string& path) {
  struct stat found{};
  const auto file = open_regular(path, found);
  if (!file) return tl::unexpected(file.error());
  return static_cast<std::uint64_t>(found.st_size);
}

policy::Result<std::uint64_t> file_size(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return io_error("look at", path, errno);
  if (!S_ISREG(found.st_mode) || found.st_nlink != 1 || found.st_uid != ::geteuid()) {
    return policy::fail("file.kind", "`" + path + "` is not a regular file of ours with one name");
  }
  return static_cast<std::uint64_t>(found.st_size);
}

policy::Result<> write_file(const std::string& path, std::string_view bytes) {
  const auto [folder, name] = split(path);
  const std::string fresh = folder + "/." + name + ".new";
  (void)::unlink(fresh.c_str());
  {
    const Descriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.open()) return io_error("make", fresh, errno);
    if (auto written = write_all(file.get(), bytes, fresh); !written) return written;
    if (::fsync(file.get()) != 0) return io_error("flush", fresh, errno);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return io_error("replace", path, errno);
  return flush_folder(folder);
}

policy::Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error("remove", path, errno);
  return {};
}

policy::Result<> make_folder(const std::string& path, MakeFolder how) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return flush_folder(split(path).first);
  if (errno != EEXIST || how == MakeFolder::fresh) return io_error("make", path, errno);
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return io_error("look at", path, errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) {
    return policy::fail("file.kind", "`" + path + "` is not a folder of ours");
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return io_error("use", path, errno);
  return {};
}

policy::Result<std::vector<FolderEntry>> list_folder(const std::string& path, std::size_t max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return io_error("open", path, errno);
  Folder folder(fd);
  if (!folder.open()) return io_error("read", path, errno);
  std::vector<FolderEntry> entries;
  for (auto name = folder.next(); !name.empty(); name = folder.next()) {
    if (entries.size() >= max) return policy::fail("file.size", "`" + path + "` holds too many entries");
    struct stat found{};
    if (::fstatat(folder.fd(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    FolderEntry entry;
    entry.name = std::move(name);
    if (S_ISREG(found.st_mode) && found.st_nlink == 1) entry.kind = FolderEntry::Kind::file;
    if (S_ISDIR(found.st_mode)) entry.kind = FolderEntry::Kind::folder;
    entry.size = static_cast<std::uint64_t>(found.st_size);
    entry.ours = found.st_uid == ::geteuid();
    entries.push_back(std::move(entry));
  }
  return entries;
}

policy::Result<> remove_tree(const std::string& folder, const std::string& name, std::string_view last) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return policy::fail("file.kind", "not the name of an entry in a folder");
  }
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.open()) return io_error("open", folder, errno);
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return io_error("remove", name, errno);
  const int child = ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (child < 0) return io_error("open", name, errno);
  std::size_t budget = kMaxRemoved;
  if (auto emptied = empty_folder(child, 0, budget, last); !emptied) return emptied;
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return io_error("remove", name, errno);
  }
  (void)::fsync(parent.get());
  return {};
}

policy::Result<> rename_entry(const std::string& folder, const std::string& from, const std::string& to) {
  if (::rename((folder + "/" + from).c_str(), (folder + "/" + to).c_str()) != 0) {
    return io_error("rename", from, errno);
  }
  return flush_folder(folder);
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  struct stat first{};
  struct stat second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool names_file(const std::string& printed, const std::string& ours) {
  return same_file(printed, ours) || compare_vmx_keys(printed, ours) == 0;
}

std::optional<std::int64_t> file_age(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return static_cast<std::int64_t>(::time(nullptr)) - static_cast<std::int64_t>(found.st_mtime);
}

std::string boot_id() {
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  const ssize_t n = file.open() ? ::read(file.get(), text, sizeof text) : 0;
  std::string id(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

policy::Result<std::unique_ptr<FileLock>> try_lock(const std::string& path) {
  return lock_now(
      Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)), path);
}

policy::Result<std::unique_ptr<FileLock>> try_lock_existing(const std::string& path) {
  return lock_now(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
}

}  // namespace vmware
