#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

// Files of ours on the host: markers, settings of clones, bytes on their way. All paths are absolute, and no
// function follows a link in the last component. Error codes: `file.missing`, `file.kind` (a link, a device,
// several names, someone else's), `file.size`, `file.exists`, `file.io`.
namespace vmware {

// The folder in which an absolute path's file lies; empty for one in the root.
std::string folder_of(const std::string& path);

struct FolderEntry {
  enum class Kind { file, folder, other };
  std::string name;
  Kind kind = Kind::other;
  std::uint64_t size = 0;
  bool ours = false;  // belongs to the user we run as
};

// A regular file with one name, at most `max_bytes` long.
policy::Result<std::string> read_file(const std::string& path, std::size_t max_bytes);
// Its first `bytes` bytes, or all of it when it is shorter.
policy::Result<std::string> read_head(const std::string& path, std::size_t bytes);
// So many bytes behind `offset`; fewer, or none, where it ends.
policy::Result<std::string> read_part(const std::string& path, std::uint64_t offset, std::size_t bytes);
// Size of a regular file with one name, whoever's.
policy::Result<std::uint64_t> size_of(const std::string& path);
// The same of one that is ours.
policy::Result<std::uint64_t> file_size(const std::string& path);
// Replaces the file in one step: a fresh file beside it, 0600, flushed, renamed, the folder flushed.
policy::Result<> write_file(const std::string& path, std::string_view bytes);
policy::Result<> remove_file(const std::string& path);  // a missing one is no error
// 0700; its parents must exist. `fresh`: it must not exist yet. `kept`: an existing one must be ours.
enum class MakeFolder { fresh, kept };
policy::Result<> make_folder(const std::string& path, MakeFolder how);
// Fails when there are more than `max` entries.
policy::Result<std::vector<FolderEntry>> list_folder(const std::string& path, std::size_t max);
// Removes the child `name` of the folder and everything in it by descriptors, the direct child `last` of it
// after all others; a link is removed, never followed. A missing one is no error. `name` is one component. If
// this followed a link, a guest's or a stranger's link could make us delete outside.
policy::Result<> remove_tree(const std::string& folder, const std::string& name, std::string_view last = {});
policy::Result<> rename_entry(const std::string& folder, const std::string& from, const std::string& to);
// Same device and inode, links followed; equal texts also count.
bool same_file(const std::string& a, const std::string& b);
// Whether a path that vmrun printed means the file `ours`: the same file, or the same text but for ASCII
// case, as vmrun may print another case than it was given. A machine that runs must never pass for one that
// does not, so a file that is not there counts by its text.
bool names_file(const std::string& printed, const std::string& ours);
// Seconds since the last change, by the file's own time; nothing when it is missing.
std::optional<std::int64_t> file_age(const std::string& path);
// The kernel's id of this boot.
std::string boot_id();

// An exclusive lock on a file, held by one process until it ends or this vanishes.
class FileLock {
 public:
  virtual ~FileLock() = default;
  virtual void touch() = 0;  // sets the file's time
};
// Null when somebody else holds it. The file is made when it is missing.
policy::Result<std::unique_ptr<FileLock>> try_lock(const std::string& path);
// The same on a file that must exist and is only read.
policy::Result<std::unique_ptr<FileLock>> try_lock_existing(const std::string& path);

}  // namespace vmware
