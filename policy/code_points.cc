#include "policy/code_points.h"

#include <algorithm>

namespace policy {

CodePoints joined(std::vector<CodePointRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  CodePoints all;
  for (const auto& range : ranges) {
    if (all.empty() || range.first > all.back().last + 1) {
      all.push_back(range);
    } else {
      all.back().last = std::max(all.back().last, range.last);
    }
  }
  return all;
}

CodePoints others(const CodePoints& points) {
  CodePoints all;
  char32_t next = 0;
  for (const auto& range : points) {
    if (range.first > next) all.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) all.push_back({next, kLastCodePoint});
  return all;
}

}  // namespace policy
