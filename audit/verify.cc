#include "audit/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "audit/escape.h"
#include "audit/segment.h"

namespace audit {
namespace {

constexpr std::size_t kMaxWarnings = 100;
constexpr std::size_t kMaxSeen = 256;  // bytes of a damaged place that a report shows

std::string shown(std::string_view bytes) {
  auto text = terminal_safe(bytes.substr(0, kMaxSeen));
  return bytes.size() > kMaxSeen ? text + "..." : text;
}

class Check final {
 public:
  Check(Disk& disk, const VerifyOptions& options) : disk_(disk), options_(options) {}

  VerifyReport run() {
    report_.live = disk_.owned_elsewhere();
    const auto segments = segments_of(disk_);
    if (!segments && segments.error().code == "audit.foreign") {
      report_.bad = {segments.error().where, 0, 0, {"segment", segments.error().message, {}, {}, {}}};
    } else if (!segments) {
      report_.missing.push_back(segments.error().message);
    } else if (segments->empty()) {
      report_.missing.emplace_back("there is no log in this folder");
    } else {
      all(*segments);
    }
    finish();
    return std::move(report_);
  }

 private:
  void all(const std::vector<Segment>& segments) {
    // Sizes of all before a byte of any, so that a live log is seen as it was at one time.
    std::vector<std::uint64_t> sizes;
    for (const auto& segment : segments) {
      auto file = disk_.open(segment.name(), Disk::Open::read);
      const auto size = file ? (*file)->size() : policy::Result<std::uint64_t>(tl::unexpected(file.error()));
      if (!size) return report_.missing.push_back(size.error().message);
      sizes.push_back(*size);
    }
    if (segments.front().number != 0) {
      report_.missing.push_back("segments 0 to " + std::to_string(segments.front().number - 1) +
                                " are not here, and nothing in the log says that they were removed");
      walk_.emplace(Walk::From::here);
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto& segment = segments[i];
      std::optional<Walk::Previous> before;
      if (i > 0) {
        if (segment.number != segments[i - 1].number + 1) {
          return bad(
              segment, 0, 0,
              {"segment", "a segment is missing before this one",
               Segment{segment.log, segments[i - 1].number + 1}.name(), segment.name(), walk_->next_seq()});
        }
        before = Walk::Previous{segments[i - 1].name(), sizes[i - 1]};
      }
      if (sizes[i] == 0 && i + 1 == segments.size() && i > 0) {
        if (!report_.live) warn("the last segment is empty: the process ended while it was begun");
        ++report_.segments;
        return;
      }
      walk_->begin_segment(std::move(before));
      if (!one(segment, sizes[i], i + 1 == segments.size())) return;
      ++report_.segments;
      report_.bytes += sizes[i];
    }
  }

  bool one(const Segment& segment, std::uint64_t size, bool last) {
    auto file = disk_.open(segment.name(), Disk::Open::read);
    if (!file) return lost(file.error().message);
    LineReader lines(**file, 0, size);
    LineReader::Line line;
    Fields fields;
    std::uint64_t number = 0, end = 0;
    for (;;) {
      const auto more = lines.next(line);
      if (!more) return lost(more.error().message);
      if (!*more) break;
      ++number;
      end = line.offset + line.bytes.size() + (line.whole ? 1U : 0U);
      if (!line.whole) {
        if (last && line.bytes.size() < kMaxLine) {
          torn(segment, number, line);
          return true;
        }
        bad(segment, number, line.offset,
            {"line",
             "the line has no end, or is longer than a record may be",
             {},
             shown(line.bytes),
             walk_->next_seq()});
        return false;
      }
      if (auto fault = walk_->feed(line.bytes, fields)) {
        fault->found = shown(fault->found);
        bad(segment, number, line.offset, std::move(*fault));
        return false;
      }
      if (number == 1 && fields.log != segment.log) {
        bad(segment, number, line.offset,
            {"log", "the segment's name and its records name different logs", segment.log,
             std::string(fields.log), *fields.seq});
        return false;
      }
      if (!note(segment, number, line, fields)) return false;
    }
    if (end != size) return lost("`" + segment.name() + "` became shorter while it was read");
    if (number == 0) {
      bad(segment, 0, 0, {"segment", "a segment that others follow is empty", {}, {}, walk_->next_seq()});
      return false;
    }
    return true;
  }

  bool note(const Segment& segment, std::uint64_t number, const LineReader::Line& line,
            const Fields& fields) {
    ++report_.records;
    if (report_.first_time.empty()) report_.first_time = fields.ts;
    // A clock that is being slewed steps back by little; whole seconds are a jump.
    if (fields.ts.substr(0, 19) < std::string_view(report_.last_time).substr(0, 19))
      warn("record " + std::to_string(*fields.seq) + ": the clock went back, from " + report_.last_time +
           " to " + std::string(fields.ts));
    report_.last_time = fields.ts;
    if (fields.act == "log.gap") {
      warn("record " + std::to_string(*fields.seq) + ": a gap of " +
           std::string(member_of(fields.obj, "bytes")) + " bytes, " + shown(fields.obj));
    }
    if (fields.ph == "res" && member_of(fields.res, "code") == "\"lost\"") ++report_.lost;
    for (const auto& anchor : options_.anchors) {
      if (anchor.seq != *fields.seq || anchor.hash == walk_->head()) continue;
      bad(segment, number, line.offset,
          {"anchor", "the record is not the one that was anchored", anchor.hash, walk_->head(), anchor.seq});
      return false;
    }
    return true;
  }

  void torn(const Segment& segment, std::uint64_t number, const LineReader::Line& line) {
    if (report_.live) return;
    warn("the last line (" + segment.name() + " line " + std::to_string(number) + ", byte " +
         std::to_string(line.offset) + ", would be record " + std::to_string(walk_->next_seq()) +
         ") has no end: a write of " + std::to_string(line.bytes.size()) + " bytes was cut off");
  }

  bool lost(const std::string& why) {
    report_.missing.push_back(why);
    return false;
  }
  void bad(const Segment& segment, std::uint64_t line, std::uint64_t offset, Fault fault) {
    report_.bad = {segment.name(), line, offset, std::move(fault)};
  }
  void warn(std::string text) {
    if (report_.warnings.size() < kMaxWarnings) {
      report_.warnings.push_back(std::move(text));
    } else if (report_.warnings.size() == kMaxWarnings) {
      report_.warnings.emplace_back("more warnings are left out");
    }
  }

  void finish() {
    auto& r = report_;
    r.log = walk_->log();
    r.key = walk_->key();
    if (walk_->any()) {
      r.last_seq = walk_->next_seq() - 1;
      r.head = walk_->head();
    }
    r.unfinished = walk_->unfinished().size();
    if (walk_->overflowed()) r.missing.emplace_back("too many actions without outcome to pair them all");
    if (r.lost > 0)
      warn(std::to_string(r.lost) + " outcomes are lost: the process ended before they were recorded");
    if (r.unfinished > 0 && !r.live)
      warn(std::to_string(r.unfinished) +
           " allowed actions have no outcome; the next start records them as lost");
    for (const auto& anchor : options_.anchors) {
      if (r.bad || (r.last_seq && anchor.seq <= *r.last_seq)) continue;
      r.bad = {{},
               0,
               0,
               {"anchor", "the log ends before the anchored record: its end was cut off", anchor.hash,
                r.last_seq ? "the last record is " + std::to_string(*r.last_seq) : "no record", anchor.seq}};
    }
    std::uint64_t anchored = 0;
    for (const auto& anchor : options_.anchors) anchored = std::max(anchored, anchor.seq + 1);
    if (r.last_seq && anchored <= *r.last_seq) {
      r.not_covered.push_back("the end: records cut off behind record " + std::to_string(*r.last_seq) +
                              " leave no trace in the log; compare with a receipt that was kept elsewhere");
    }
    if (anchored == 0)
      r.not_covered.emplace_back(
          "the whole: someone who can write these files can replace all of them by another "
          "consistent log; only a hash kept elsewhere shows that");
    if (!r.key.empty()) r.not_covered.emplace_back("the signatures of the log's key were not checked");
    r.not_covered.emplace_back("`ordered` records of the last 50 ms before a power cut");
    r.verdict = r.bad                 ? Verdict::tampered
                : !r.missing.empty()  ? Verdict::incomplete
                : !r.warnings.empty() ? Verdict::warnings
                                      : Verdict::good;
  }

  Disk& disk_;
  const VerifyOptions& options_;
  std::optional<Walk> walk_{std::in_place};
  VerifyReport report_;
};

}  // namespace

VerifyReport verify(Disk& disk, const VerifyOptions& options) { return Check(disk, options).run(); }

VerifyReport verify(const std::string& folder, const VerifyOptions& options) {
  const auto disk = review_disk(folder);
  if (disk) return verify(**disk, options);
  VerifyReport report;
  report.missing.push_back(disk.error().message);
  return report;
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return 0;
    case Verdict::tampered:
      return 1;
    case Verdict::incomplete:
      return 3;
    case Verdict::warnings:
      return 4;
  }
  return 1;
}

}  // namespace audit
