#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "audit/segment.h"
#include "audit/walk.h"
#include "policy/result.h"

namespace audit {

// Bytes behind the last whole record, moved to `torn/`.
struct Torn {
  std::string segment;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string kept;  // name in `torn/`
};

// Where a log goes on.
struct Resume {
  std::string log;                       // empty: there is no log yet
  std::uint64_t number = 0;              // of the segment to write next
  std::unique_ptr<File> file;            // open for appending; null: the segment is yet to be made
  std::uint64_t size = 0;                // of `file`
  std::optional<Walk::Previous> before;  // of the segment to be made
  std::uint64_t seq = 0;                 // of the next record
  std::string head;                      // hash of the last one, empty when there is none
  std::map<std::uint64_t, Walk::Unfinished> unfinished;
  std::vector<Torn> torn;
  std::string suspect;  // name of the last segment, when a flush of it failed
};

// Name of the empty file that says that a flush of this segment failed.
std::string suspect_mark(std::uint64_t segment);

// Reads the last segment from end to end and moves a torn tail out of the way. Error `audit.damaged`: a
// broken line with whole records behind it, which no crash of ours leaves.
policy::Result<Resume> recover(Disk&);

}  // namespace audit
