#include "audit/segment.h"

#include <algorithm>
#include <charconv>

#include "audit/chain.h"

namespace audit {
namespace {
constexpr std::string_view kFront = "audit-", kBack = ".jsonl";
constexpr std::size_t kChunk = 256 * 1024;
}  // namespace

std::string Segment::name() const {
  return std::string(kFront) + log + "-" + std::to_string(number) + std::string(kBack);
}

std::optional<Segment> Segment::parse(std::string_view name) {
  if (!name.starts_with(kFront) || !name.ends_with(kBack) || name.size() < kFront.size() + kBack.size() + 10)
    return std::nullopt;
  const auto middle = name.substr(kFront.size(), name.size() - kFront.size() - kBack.size());
  Segment out{std::string(middle.substr(0, 8)), 0};
  const auto digits = middle.substr(9);
  const bool hex = std::all_of(out.log.begin(), out.log.end(),
                               [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!hex || middle[8] != '-' || digits.size() > 9 || (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  const auto end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, out.number).ptr != end) return std::nullopt;
  return out;
}

policy::Result<std::vector<Segment>> segments_of(Disk& disk) {
  const auto names = disk.list();
  if (!names) return tl::unexpected(names.error());
  std::vector<Segment> out;
  for (const auto& name : *names) {
    auto segment = Segment::parse(name);
    if (!segment) continue;
    if (!out.empty() && out.front().log != segment->log)
      return policy::fail("audit.foreign", "segments of two logs lie in one folder", name);
    out.push_back(std::move(*segment));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return out;
}

policy::Result<bool> LineReader::next(Line& line) {
  std::size_t searched = at_;
  while (!ended_) {
    const auto end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.bytes = std::string_view(buffer_).substr(at_, end - at_);
      line.offset = next_ - (buffer_.size() - at_);
      line.whole = line.bytes.size() < kMaxLine;
      at_ = end + 1;
      return true;
    }
    buffer_.erase(0, at_);
    at_ = 0;
    searched = buffer_.size();
    std::size_t got = 0;
    if (searched <= kMaxLine && next_ < to_) {
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, to_ - next_));
      buffer_.resize(searched + want);
      const auto n = file_.read(next_, std::span(buffer_).subspan(searched));
      if (!n) return tl::unexpected(n.error());
      got = std::min(*n, want);
      buffer_.resize(searched + got);
      next_ += got;
    }
    if (got > 0) continue;
    ended_ = true;
    if (buffer_.empty()) break;
    line.bytes = buffer_;
    line.offset = next_ - buffer_.size();
    line.whole = false;
    return true;
  }
  return false;
}

}  // namespace audit
