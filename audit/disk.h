#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

// The folder a log lives in, as the log sees it. An interface, so that tests can make the disk fail.
namespace audit {

// One open file. Errors: `audit.write` when nothing or only a part was written, `audit.disk` for the rest.
class File {
 public:
  virtual ~File() = default;
  // Writes at the end; answers how much was written, which may be less than all and is never 0.
  virtual policy::Result<std::size_t> append(std::string_view) = 0;
  virtual policy::Result<void> truncate(std::uint64_t size) = 0;
  // Data and size on stable storage (fdatasync). After a failure nothing is known about any byte written.
  virtual policy::Result<void> sync() = 0;
  virtual policy::Result<std::uint64_t> size() = 0;
  // Fills from `offset`; answers how much there was, 0 at the end.
  virtual policy::Result<std::size_t> read(std::uint64_t offset, std::span<char>) = 0;
};

class Disk {
 public:
  enum class Open { read, append, create };
  virtual ~Disk() = default;
  // Names of the files in the folder, sorted by bytes.
  virtual policy::Result<std::vector<std::string>> list() = 0;
  // `create` accepts a file that exists only when it is empty. Links are refused, and files that others could
  // have written.
  virtual policy::Result<std::unique_ptr<File>> open(const std::string& name, Open) = 0;
  // A new file in `torn/`, for what recovery moves out of the way. The name must be free.
  virtual policy::Result<std::unique_ptr<File>> set_aside(const std::string& name) = 0;
  // Makes created files findable after a power cut (fsync of the folder).
  virtual policy::Result<void> sync_names() = 0;
  // Whether another process holds the log open for writing.
  virtual bool owned_elsewhere() = 0;
};

// For the one writer: makes the folder (0700) when it is missing, takes its lock for the life of the object.
// Errors: `audit.folder` (a link, not ours, writable by others, cannot be made), `audit.owned` (another
// process writes this log).
policy::Result<std::unique_ptr<Disk>> own_disk(const std::string& folder);
// For reading; takes no lock. Error: `audit.folder`.
policy::Result<std::unique_ptr<Disk>> review_disk(const std::string& folder);

// What the kernel says identifies this boot, and the host's name; empty when it does not say.
std::string boot_id();
std::string host_name();

}  // namespace audit
