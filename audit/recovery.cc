#include "audit/recovery.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/digest.h"

namespace audit {
namespace {

using policy::fail;
using policy::Result;

// Writes all or answers why not.
Result<void> write_all(File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = file.append(bytes);
    if (!n) return tl::unexpected(n.error());
    bytes.remove_prefix(*n);
  }
  return {};
}

Result<Torn> move_tail(Disk& disk, File& file, const Segment& segment, std::uint64_t offset,
                       std::uint64_t end) {
  Torn torn{segment.name(), offset, end - offset, {}, {}};
  Result<std::unique_ptr<File>> copy = fail("audit.disk", "no free name in `torn`");
  for (int i = 0; i < 1000 && !copy; ++i) {
    torn.kept = torn.segment + "." + std::to_string(offset) + (i > 0 ? "." + std::to_string(i) : "");
    copy = disk.set_aside(torn.kept);
  }
  if (!copy) return tl::unexpected(copy.error());
  policy::Sha256Stream digest;
  std::array<char, 65536> bytes{};
  for (std::uint64_t at = offset; at < end;) {
    const auto n = file.read(at, bytes);
    if (!n) return tl::unexpected(n.error());
    if (*n == 0) break;
    const std::string_view part(bytes.data(), *n);
    digest.update(part);
    if (auto written = write_all(**copy, part); !written) return tl::unexpected(written.error());
    at += *n;
  }
  torn.sha256 = digest.finish().hex();
  if (auto done = (*copy)->sync(); !done) return tl::unexpected(done.error());
  if (auto done = file.truncate(offset); !done) return tl::unexpected(done.error());
  if (auto done = file.sync(); !done) return tl::unexpected(done.error());
  return torn;
}

// Whether some later line still matches its own hash.
Result<bool> whole_record_behind(LineReader& lines) {
  Hasher hasher;
  LineReader::Line line;
  for (;;) {
    const auto more = lines.next(line);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return false;
    Sealed sealed;
    if (line.whole && split(line.bytes, sealed) && hasher.hex_closed(sealed.body) == sealed.hash) return true;
  }
}

Result<bool> adopt(Disk& disk, const Segment& segment, Resume& out) {
  auto file = disk.open(segment.name(), Disk::Open::append);
  if (!file) return tl::unexpected(file.error());
  const auto size = (*file)->size();
  if (!size) return tl::unexpected(size.error());
  Walk walk(Walk::From::here);
  LineReader lines(**file, 0, *size);
  LineReader::Line line;
  Fields fields;
  std::uint64_t good = 0;
  for (;;) {
    const auto more = lines.next(line);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    if (!line.whole) break;
    const std::uint64_t end = line.offset + line.bytes.size() + 1;
    if (auto fault = walk.feed(line.bytes, fields)) {
      const auto behind = fault->code == "hash" || fault->code == "line" ? whole_record_behind(lines) : true;
      if (!behind) return tl::unexpected(behind.error());
      if (!*behind) break;
      return fail("audit.damaged",
                  "the log is not what was written: " + fault->what +
                      "; run `sallyport audit verify`, then move the log's folder away to begin a new one",
                  segment.name() + ":" + std::to_string(line.offset));
    }
    good = end;
  }
  if (good < *size) {
    auto torn = move_tail(disk, **file, segment, good, *size);
    if (!torn) return tl::unexpected(torn.error());
    out.torn.push_back(std::move(*torn));
  }
  if (!walk.any()) return false;
  if (walk.log() != segment.log)
    return fail("audit.damaged", "the segment's name and its records name different logs", segment.name());
  out.file = std::move(*file);
  out.number = segment.number;
  out.size = good;
  out.seq = walk.next_seq();
  out.head = walk.head();
  out.unfinished = walk.unfinished();
  return true;
}

}  // namespace

Result<Resume> recover(Disk& disk) {
  const auto segments = segments_of(disk);
  if (!segments) return fail("audit.damaged", segments.error().message, segments.error().where);
  const auto names = disk.list();
  if (!names) return tl::unexpected(names.error());
  Resume out;
  if (segments->empty()) return out;
  out.log = segments->back().log;
  // A segment that holds no whole record was being begun when the process ended; the one before goes on.
  for (auto at = segments->rbegin(); at != segments->rend(); ++at) {
    const auto found = adopt(disk, *at, out);
    if (!found) return tl::unexpected(found.error());
    if (!*found) continue;
    if (std::binary_search(names->begin(), names->end(), suspect_mark(at->number))) out.suspect = at->name();
    if (at == segments->rbegin() && out.suspect.empty()) return out;
    out.before = Walk::Previous{at->name(), out.size};
    out.file.reset();
    out.size = 0;
    out.number = at->number + 1;
    return out;
  }
  if (segments->size() > 1 || segments->front().number != 0)
    return fail("audit.damaged", "no segment holds a whole record", segments->front().name());
  return out;
}

std::string suspect_mark(std::uint64_t segment) { return "suspect-" + std::to_string(segment); }

}  // namespace audit
