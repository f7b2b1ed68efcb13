#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "enforcers/archive/archive_fault.h"
#include "enforcers/archive/byte_stream.h"
#include "enforcers/archive/name_set.h"
#include "enforcers/archive/pax_records.h"
#include "enforcers/archive/tar_header.h"
#include "policy/path.h"
#include "policy/result.h"

namespace enforcers {

struct TarLimits {
  std::uint64_t entries = 100'000;
  std::uint64_t file_bytes = std::uint64_t{1} << 30U;
  std::uint64_t total_bytes = std::uint64_t{2} << 30U;
  std::uint64_t header_bytes = std::uint64_t{64} << 20U;  // of all extended headers and kept names
  std::uint64_t padding_bytes = std::uint64_t{1} << 20U;  // after the end
};

enum class OnFault { reject, skip };

struct TarRules {
  TarLimits limits;
  policy::NameRules names = policy::NameRules::portable;
  OnFault links = OnFault::skip;          // symbolic and hard links
  OnFault invalid_names = OnFault::skip;  // names that only some hosts cannot hold
};

// A file or folder that the rules accept. `path` has safe components only.
struct TarEntry {
  std::string path;
  EntryType type = EntryType::file;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970
  bool executable = false;
};

// What was left out: how many by class, and the first of the names with theirs. The names hold no control or
// invisible characters, but they are the guest's words.
struct Skipped {
  static constexpr std::size_t kMostNames = 10;
  std::uint64_t count = 0;
  std::map<std::string, std::uint64_t, std::less<>> by_class;
  std::vector<std::pair<std::string, std::string>> names;  // name, class
};

// Reads a tar that a hostile guest made: ustar, pax and GNU long names, and of these only what every tar
// program reads alike. Where two headers disagree it refuses instead of choosing. Memory does not depend on
// declared sizes: one extended header, and the names seen. If this read an entry otherwise than it is judged,
// a guest could place a file anywhere below the destination.
class TarReader final {
 public:
  // The source outlives the reader. Codes of errors: `archive.<class>` and those of the source.
  TarReader(ByteSource& source, TarRules rules)
      : source_(source), rules_(rules), names_(rules.names, rules.limits.entries) {}

  // The next entry; nothing once the archive ended well. Passes over what read() did not take. After an error
  // the reader gives the same error again.
  policy::Result<std::optional<TarEntry>> next();
  // Further bytes of the entry's content; empty at its end. Valid until the next call.
  policy::Result<std::string_view> read();

  const Skipped& skipped() const { return skipped_; }
  // Whether an entry `.` was there, which stands for the packed folder itself.
  bool has_root() const { return has_root_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Pending {  // of the headers before an entry
    std::optional<PaxRecords> pax;
    std::optional<std::string> long_name;
    bool long_link = false;
    bool any() const { return pax || long_name || long_link; }
  };

  template <class T>
  using Outcome = policy::Result<T>;
  tl::unexpected<policy::Error> refuse(ArchiveFault);
  Outcome<std::string_view> take(std::size_t most);
  Outcome<std::string> take_block();
  Outcome<std::string> take_content(std::uint64_t size);
  Outcome<void> pass_over_content();
  Outcome<std::optional<TarEntry>> advance();
  Outcome<void> take_extension(const TarHeader&, Pending&);
  Outcome<std::optional<TarEntry>> take_entry(const TarHeader&, const Pending&);
  Outcome<void> finish();
  void skip(const std::string& name, ArchiveFault);

  ByteSource& source_;
  TarRules rules_;
  NameSet names_;
  Skipped skipped_;
  std::optional<policy::Error> failed_;
  bool ended_ = false;
  bool has_root_ = false;
  std::uint64_t entry_ = 0;     // headers so far
  std::uint64_t taken_ = 0;     // entries with a name
  std::uint64_t content_ = 0;   // bytes of the current entry still to come
  std::uint64_t padding_ = 0;   // after them
  std::uint64_t total_ = 0;     // bytes of files
  std::uint64_t metadata_ = 0;  // bytes of extended headers and names
  std::uint64_t bytes_read_ = 0;
};

}  // namespace enforcers
