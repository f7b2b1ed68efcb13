#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "enforcers/path_jail/beneath.h"
#include "enforcers/path_jail/descriptor.h"
#include "policy/path.h"
#include "policy/result.h"

namespace enforcers {

using policy::Result;

// Which file it is, whatever it is called.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const Identity&) const = default;
};

enum class Kind { file, folder };

// What an open file or folder is. Two equal values mean that nobody wrote to it in between.
struct FileFacts {
  Kind kind = Kind::file;
  Identity identity;
  std::uint64_t size = 0;     // bytes; 0 for a folder
  std::uint64_t links = 1;    // names of it
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::int64_t changed = 0;   // nanoseconds since 1970, cannot be set back
  bool executable = false;    // by its owner
  bool operator==(const FileFacts&) const = default;
};

// Of an open file. Anything but a regular file or a folder is `path.special`.
Result<FileFacts> facts_of(const Descriptor&, std::string_view subject);

struct Source {
  Descriptor handle;  // readable
  FileFacts facts;
};

// A place to write to: the deepest folder of the path that exists, and what is at the path's end.
struct Destination {
  Descriptor folder;
  std::size_t existing = 0;     // components of the path that `folder` stands for
  std::optional<Kind> present;  // what is there under the whole path; `folder` is its parent for a file
};

// One folder of the host, as the only part of it that a copy can reach. Holds the folder open from the start,
// so that a folder put in its place later is noticed and never used. Immutable and usable from any thread.
class Jail final {
 public:
  // `root` is an absolute path. Refused: a link, a folder of another user (other than root), a folder that
  // others may write to. With `shared_with`, one other user may, by an access control list that must give
  // rights to nobody else; what is published in it is then theirs to change too.
  static Result<std::shared_ptr<const Jail>> open(const std::string& root,
                                                  std::optional<Resolver> resolver = std::nullopt,
                                                  std::optional<std::uint32_t> shared_with = std::nullopt);

  // `path.root_changed` when the folder's name leads to another folder than it did at the start.
  Result<void> still_there() const;

  // A regular file or a folder to read from. Refused: links, pipes, sockets, devices (without blocking), and
  // a file with more than one name, which may be known outside.
  Result<Source> open_source(const policy::HostPath&) const;
  // Where something may be written. Refused: the root itself, links, a file on the way, special files, a
  // folder we may not write to. Changes nothing.
  Result<Destination> find_destination(const policy::HostPath&) const;

  const std::string& root() const { return root_; }
  const Descriptor& handle() const { return handle_; }
  Identity identity() const { return identity_; }
  Resolver resolver() const { return resolver_; }
  // Modes of what is made in it.
  unsigned folder_mode() const { return sharing_ == Sharing::with_one ? 0770 : 0755; }
  unsigned file_mode(bool executable) const {
    if (sharing_ == Sharing::with_one) return executable ? 0770 : 0660;
    return executable ? 0755 : 0644;
  }

 private:
  enum class Sharing { with_nobody, with_one };
  Jail(std::string root, Descriptor handle, Identity identity, Resolver resolver, Sharing sharing)
      : root_(std::move(root)),
        handle_(std::move(handle)),
        identity_(identity),
        resolver_(resolver),
        sharing_(sharing) {}

  std::string root_;
  Descriptor handle_;
  Identity identity_;
  Resolver resolver_;
  Sharing sharing_;
};

// Whether one of two existing folders is the other or lies below it, by what they are and not by their names.
Result<bool> overlap(const std::string& a, const std::string& b);

// Whether the existing folder `inner` is `outer` or lies below it, by what they are and not by their names.
Result<bool> lies_within(const std::string& inner, const std::string& outer);

// The names in an open, readable folder, sorted, without `.` and `..`. More than `most` is an error.
Result<std::vector<std::string>> names_in(const Descriptor& folder, std::size_t most, Resolver);

}  // namespace enforcers
