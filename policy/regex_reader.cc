#include "policy/regex_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace policy {
namespace {

constexpr std::size_t kMaxColumns = 255;
constexpr std::size_t kMaxRows = 96;  // 48 KiB
constexpr std::uint16_t kNoText = 1;  // the row of what is not UTF-8, which nothing leaves

// A run of code points that belong together.
struct Run {
  char32_t first;
  std::uint8_t column;
};

// Rows for all of UTF-8 (Unicode 15, table 3-7), shared where they are equal.
class Rows {
 public:
  explicit Rows(const std::vector<Run>& runs) : runs_(runs) {}

  std::optional<std::vector<std::uint16_t>> make() {
    entries_.assign(2 * CodePointTable::kWidth, entry(kNoText, CodePointTable::kPartOfOne));
    std::vector<std::uint16_t> start(CodePointTable::kWidth, entry(kNoText, CodePointTable::kPartOfOne));
    for (char32_t c = 0; c < 0x80; ++c) start[c] = entry(0, column(c));
    for (char32_t lead = 0xC2; lead <= 0xF4; ++lead) {
      const unsigned more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
      const char32_t bits = lead & (more == 1 ? 0x1FU : more == 2 ? 0x0FU : 0x07U);
      constexpr std::array<char32_t, 4> kSmallest{0, 0x80, 0x800, 0x10000};
      const auto next = row(bits << (6 * more), more, kSmallest[more]);
      if (!next) return std::nullopt;
      start[lead] = entry(*next, CodePointTable::kPartOfOne);
    }
    std::copy(start.begin(), start.end(), entries_.begin());
    return std::move(entries_);
  }

 private:
  static std::uint16_t entry(std::uint16_t row, std::uint16_t column) {
    return static_cast<std::uint16_t>(row << 8U | column);
  }
  std::vector<Run>::const_iterator run_of(char32_t c) const {
    return std::upper_bound(runs_.begin(), runs_.end(), c,
                            [](char32_t value, const Run& run) { return value < run.first; }) -
           1;
  }
  std::uint16_t column(char32_t c) const { return run_of(c)->column; }

  // For `more` bytes that follow those which say that the code point is `base` or less than 64^more after it.
  // Nothing below `smallest` is written so long.
  std::optional<std::uint16_t> row(char32_t base, unsigned more, char32_t smallest) {
    const char32_t each = char32_t{1} << (6 * (more - 1));
    std::vector<std::uint16_t> made(CodePointTable::kWidth, entry(kNoText, CodePointTable::kPartOfOne));
    for (char32_t i = 0; i < 64; ++i) {
      const auto first = base + i * each;
      const auto last = first + each - 1;
      // Whether it is one is the same for all that begin so.
      if (first < smallest || first > kLastCodePoint || (first >= 0xD800 && first <= 0xDFFF)) continue;
      if (more == 1) {
        made[0x80 + i] = entry(0, column(first));
        continue;
      }
      // A whole row of one run is the same wherever it stands.
      const bool plain = run_of(first) == run_of(last);
      const auto uniform = std::pair(column(first), more - 1);
      std::optional<std::uint16_t> next;
      if (const auto known = uniform_.find(uniform); plain && known != uniform_.end()) {
        next = known->second;
      } else {
        next = row(first, more - 1, smallest);
        if (next && plain) uniform_.emplace(uniform, *next);
      }
      if (!next) return std::nullopt;
      made[0x80 + i] = entry(*next, CodePointTable::kPartOfOne);
    }
    return shared(std::move(made));
  }

  std::optional<std::uint16_t> shared(std::vector<std::uint16_t> made) {
    const auto index = entries_.size() / CodePointTable::kWidth;
    const auto known = known_.find(made);
    if (known != known_.end()) return known->second;
    if (index == kMaxRows) return std::nullopt;
    entries_.insert(entries_.end(), made.begin(), made.end());
    known_.emplace(std::move(made), static_cast<std::uint16_t>(index));
    return static_cast<std::uint16_t>(index);
  }

  const std::vector<Run>& runs_;
  std::vector<std::uint16_t> entries_;
  std::map<std::vector<std::uint16_t>, std::uint16_t> known_;
  std::map<std::pair<std::uint16_t, unsigned>, std::uint16_t> uniform_;
};

}  // namespace

std::optional<CodePointTable> tell_apart(const std::vector<CodePoints>& sets) {
  std::vector<char32_t> starts{0};
  for (const auto& set : sets) {
    for (const auto& range : set) {
      starts.push_back(range.first);
      if (range.last < kLastCodePoint) starts.push_back(range.last + 1);
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());

  // The sets that hold each run, in order.
  std::vector<std::vector<std::uint16_t>> holders(starts.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const auto& range : sets[i]) {
      auto at = std::lower_bound(starts.begin(), starts.end(), range.first) - starts.begin();
      for (auto run = static_cast<std::size_t>(at); run < starts.size() && starts[run] <= range.last; ++run) {
        holders[run].push_back(static_cast<std::uint16_t>(i));
      }
    }
  }
  CodePointTable table;
  table.columns_of.resize(sets.size());
  std::map<std::vector<std::uint16_t>, std::uint8_t> known;
  std::vector<Run> runs;
  for (std::size_t run = 0; run < starts.size(); ++run) {
    if (table.columns > kMaxColumns) return std::nullopt;
    const auto [at, fresh] = known.emplace(holders[run], static_cast<std::uint8_t>(table.columns));
    if (fresh) {
      for (const auto set : holders[run]) table.columns_of[set].push_back(at->second);
      ++table.columns;
    }
    runs.push_back({starts[run], at->second});
  }
  auto entries = Rows(runs).make();
  if (!entries) return std::nullopt;
  table.entries = std::move(*entries);
  return table;
}

}  // namespace policy
