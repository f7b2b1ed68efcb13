#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace standin {

using policy::Result;
using Millis = std::chrono::milliseconds;
using Deadline = std::chrono::steady_clock::time_point;

inline Deadline after(Millis wait) { return std::chrono::steady_clock::now() + wait; }
// Milliseconds left, at least 0.
int left_ms(Deadline deadline);
void pause_for(Millis wait);

// Owns a file descriptor.
class Fd final {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  int get() const { return fd_; }
  int release();
  void reset();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Device and inode: what a file is, however it is spelled.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string text() const;  // `<hex>-<hex>`
  bool operator==(const FileIdentity&) const = default;
};

// Errors of this header: `file.absent`, `file.denied`, `file.kind` (not a regular file, or a link),
// `file.size`, `file.exists`, `file.busy` (a lock not got in time), `file.name` (longer than the file system
// takes), `file.special` (what is there is neither a regular file nor a folder), `file.io`.

// A regular file reached without following a link in its last part.
Result<std::string> read_small_file(const std::string& path, std::size_t limit);
// At most the first `limit` bytes of such a file.
Result<std::string> read_head(const std::string& path, std::size_t limit);
// Through a temporary file beside it, synced, renamed into place; mode 0600.
Result<> write_file_atomically(const std::string& path, std::string_view bytes);
Result<FileIdentity> identity_of(const std::string& path);
// Whether there is a regular file at `path` that is not a link.
bool is_plain_file(const std::string& path);
bool exists(const std::string& path);

// The path with every link resolved; the last part need not exist.
Result<std::string> canonical_path(const std::string& path);
std::string folder_of(const std::string& path);
std::string base_name(const std::string& path);

// A folder of this user alone, made if absent; refused (`file.denied`) when it is a link, another's or open
// to others.
Result<> make_private_folder(const std::string& path);
bool is_private_folder(const std::string& path);
// 0700; `file.exists` when something is there.
Result<> make_folder(const std::string& path);
// A new file (0600), open for writing; `file.exists` when something is there.
Result<Fd> make_file(const std::string& path);
Result<> remove_file(const std::string& path);
// True when it was empty and is gone.
bool remove_empty_folder(const std::string& path);
Result<> make_read_only(const std::string& path);
Result<> make_writable(const std::string& path);
// Of the file's content and its name.
Result<> sync_file(const std::string& path);
Result<> rename_file(const std::string& from, const std::string& to);
// Copies at most `limit` bytes of a regular file to a temporary beside `to` and renames it there (over a
// file).
Result<> copy_file(const std::string& from, const std::string& to, std::uint64_t limit);
// A regular file, for reading.
Result<Fd> open_file(const std::string& path);
// Syncs what was written to the file and gives it its final name.
Result<> place_file(const Fd& fd, const std::string& from, const std::string& to);
// A host file being written: appended to a temporary beside it, which takes its place (over a regular file,
// and nothing else) at `finish` and vanishes with this object otherwise. What killed writers left goes.
class HostFile final {
 public:
  HostFile() = default;
  ~HostFile();
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;
  Result<> create(const std::string& path);
  Result<> append(std::string_view bytes);
  Result<> finish();

 private:
  std::string path_, temporary_;
  Fd fd_;
};

// A regular host file being read piece by piece.
class HostSource final {
 public:
  Result<> open(const std::string& path);
  // When it was opened.
  std::uint64_t size() const { return size_; }
  // `limit` bytes, fewer only at the end.
  Result<std::string> next(std::size_t limit);

 private:
  Fd fd_;
  std::uint64_t size_ = 0;
};

// Names in a folder, without `.` and `..`, at most `limit`; empty when it cannot be read.
std::vector<std::string> names_in(const std::string& folder, std::size_t limit);

// An exclusive flock on a file (made if absent) or folder; released with the descriptor.
Result<Fd> lock_path(const std::string& path, Deadline deadline);
// The same of what must be there; `file.absent` also when it goes away meanwhile.
Result<Fd> lock_existing(const std::string& path, Deadline deadline);
// Whether some process holds an exclusive flock on the file; false when it is absent.
bool is_locked(const std::string& path);

std::string environment(const char* name);

}  // namespace standin
