#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/disk.h"
#include "policy/result.h"

namespace audit {

// `audit-<log id, 8 hex>-<number>.jsonl`.
struct Segment {
  std::string log;
  std::uint64_t number = 0;
  std::string name() const;
  static std::optional<Segment> parse(std::string_view name);
};

// The segments of a folder by number; whatever else lies there is skipped. Error `audit.foreign`: a segment
// of another log lies among them (`where` is its name).
policy::Result<std::vector<Segment>> segments_of(Disk&);

// Lines of a file, one after the other, in constant memory.
class LineReader final {
 public:
  struct Line {
    std::string_view bytes;    // without the newline; valid until the next call
    std::uint64_t offset = 0;  // of its first byte
    bool whole = false;        // it ended with a newline and is not too long
  };
  // Reads [from, to); the file must outlive the reader.
  LineReader(File& file, std::uint64_t from, std::uint64_t to) : file_(file), next_(from), to_(to) {}
  // False at the end. A line beyond kMaxLine comes out in part, as not whole, and ends the reading.
  policy::Result<bool> next(Line&);

 private:
  File& file_;
  std::uint64_t next_;  // file offset behind what is in buffer_
  std::uint64_t to_;
  std::string buffer_;
  std::size_t at_ = 0;  // front of the next line in buffer_
  bool ended_ = false;
};

}  // namespace audit
