#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/net/descriptor.h"
#include "policy/result.h"

namespace gateway {

// A file of ours in a private folder (0600, new), gone when this is: bytes of a copy between two programs.
class Staged final {
 public:
  // A new empty file, open for writing.
  static policy::Result<std::unique_ptr<Staged>> make(const std::string& folder);
  // Only a name, in a new folder of its own, for somebody else to write to; whatever is there is removed at
  // the end, also what a writer that was killed left beside it.
  static policy::Result<std::unique_ptr<Staged>> name_only(const std::string& folder);
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return file_.get(); }
  policy::Result<std::uint64_t> size() const;
  // Opens it to read: a regular file of ours, no link.
  policy::Result<Descriptor> open() const;

 private:
  explicit Staged(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  std::string room_;  // the folder that goes as well; empty: none
  Descriptor file_;
};

// Makes the folder (0700) and removes what an earlier process left in it.
policy::Result<void> empty_staging_folder(const std::string& folder);

}  // namespace gateway
