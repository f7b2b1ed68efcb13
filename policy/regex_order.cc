#include "policy/regex_order.h"

#include <algorithm>

namespace policy {
namespace {

using Place = RegexPlaces::Place;

// The largest simulation: one place is below another when it takes no more, and each place that may come next
// is below one that may come next there.
class Simulation {
 public:
  Simulation(const RegexPlaces& places, Search search, Steps& steps)
      : places_(places), search_(search), steps_(steps), size_(places.size()) {}

  bool run(const CodePointTable& table) {
    if (!begin(table)) return false;
    for (bool changed = true; changed;) {
      changed = false;
      for (Place p = 2; p < size_; ++p) {
        if (!steps_.take(size_)) return false;
        for (Place q = 2; q < size_; ++q) {
          if (p == q || !below(p, q) || follows(p, q)) continue;
          if (steps_.left() == 0) return false;
          below_[p * size_ + q] = false;
          changed = true;
        }
      }
    }
    return steps_.left() != 0;
  }
  bool below(std::size_t p, std::size_t q) const { return below_[p * size_ + q]; }

 private:
  bool begin(const CodePointTable& table) {
    const auto& columns = table.columns_of;
    if (!steps_.take(size_ * size_)) return false;
    std::vector<bool> within(columns.size() * columns.size());
    for (std::size_t a = 0; a < columns.size(); ++a) {
      for (std::size_t b = 0; b < columns.size(); ++b) {
        if (!steps_.take(1 + columns[a].size() + columns[b].size())) return false;
        within[a * columns.size() + b] =
            std::includes(columns[b].begin(), columns[b].end(), columns[a].begin(), columns[a].end());
      }
    }
    below_.assign(size_ * size_, false);
    for (std::size_t p = 2; p < size_; ++p) {
      for (std::size_t q = 2; q < size_; ++q) {
        below_[p * size_ + q] = within[places_.set_of[p] * columns.size() + places_.set_of[q]];
      }
    }
    for (std::size_t p = 0; p < size_; ++p) {
      below_[p * size_ + p] = true;
      if (search_ == Search::anywhere) below_[p * size_ + RegexPlaces::kMatched] = true;
    }
    if (search_ == Search::whole) {
      // At the end is then the only place to match.
      below_[RegexPlaces::kMatched * size_ + RegexPlaces::kMatchedAtEnd] = true;
      below_[RegexPlaces::kMatchedAtEnd * size_ + RegexPlaces::kMatched] = true;
    }
    return true;
  }

  bool follows(Place p, Place q) {
    const auto& to = places_.next[q];
    return std::all_of(places_.next[p].begin(), places_.next[p].end(), [&](Place f) {
      return steps_.take(to.size()) &&
             std::any_of(to.begin(), to.end(), [&](Place g) { return below(f, g); });
    });
  }

  const RegexPlaces& places_;
  Search search_;
  Steps& steps_;
  std::size_t size_;
  std::vector<bool> below_;  // by place, and the place it is compared with
};

}  // namespace

std::vector<std::vector<Place>> places_above(const RegexPlaces& places, const CodePointTable& table,
                                             Search search, Steps& steps) {
  const auto size = places.size();
  std::vector<std::vector<Place>> above(size);
  Simulation simulation(places, search, steps);
  if (!simulation.run(table)) return above;
  for (std::size_t p = 0; p < size; ++p) {
    for (std::size_t q = 0; q < size; ++q) {
      if (p == q || !simulation.below(p, q)) continue;
      if (q < p || !simulation.below(q, p)) above[p].push_back(static_cast<Place>(q));
    }
  }
  return above;
}

}  // namespace policy
