#include "policy/regex_automaton.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace policy {
namespace {

using Place = RegexPlaces::Place;
using Places = std::vector<Place>;

// A share of what a pattern may take, so that the rest is left for the automaton.
constexpr std::size_t kOrderSteps = 300'000;
// What a state costs by itself.
constexpr std::size_t kStateSteps = 16;

// A set of places, while it is put together.
class Gathered {
 public:
  explicit Gathered(std::size_t places) : has_(places) {}
  void add(const Places& places) {
    for (const auto place : places) {
      if (!has_[place]) all_.push_back(place);
      has_[place] = true;
    }
  }
  bool has(Place place) const { return has_[place]; }
  const Places& all() const { return all_; }
  void clear() {
    for (const auto place : all_) has_[place] = false;
    all_.clear();
  }

 private:
  std::vector<bool> has_;
  Places all_;
};

class Maker {
 public:
  Maker(const RegexPlaces& places, const CodePointTable& table, Search search, Steps& steps)
      : places_(places), table_(table), search_(search), steps_(steps) {
    gathered_.assign(table.columns, Gathered(places.size()));
    const auto share = std::min(kOrderSteps, steps.left());
    Steps some(share);
    above_ = places_above(places, table, search, some);
    steps.take(share - some.left());
  }

  Result<void> run() {
    constexpr auto kMaxStates = RegexAutomaton::kMaxStates;
    constexpr auto kMaxCells = RegexAutomaton::kMaxCells;
    for (const auto& next : places_.next) next_places_.push_back(trimmed(next));
    anew_ = trimmed(places_.first_if_inside);
    state_of(trimmed(places_.first));
    for (std::size_t at = 0; at < states_.size(); ++at) {
      step(at);
      if (steps_.left() == 0) return tl::unexpected(too_large("its share of work"));
      if (states_.size() > kMaxStates) {
        return tl::unexpected(too_large(std::to_string(kMaxStates) + " states"));
      }
      if (table_.entries.size() + states_.size() * table_.columns > kMaxCells) {
        return tl::unexpected(too_large(std::to_string(kMaxCells * sizeof(std::uint16_t) / 1024) + " KiB"));
      }
    }
    return {};
  }

  // Where the cells of a state begin is what it is called from here.
  std::vector<std::uint16_t> next() const {
    std::vector<std::uint16_t> cells;
    cells.reserve(next_.size());
    for (const auto state : next_) cells.push_back(static_cast<std::uint16_t>(state * table_.columns));
    return cells;
  }
  std::vector<bool> accepts() const {
    std::vector<bool> all;
    for (const auto* state : states_) {
      all.push_back(!state->empty() && static_cast<Place>(state->front()) <= RegexPlaces::kMatchedAtEnd);
    }
    return all;
  }

 private:
  using State = std::u16string;  // places, in order

  // What may come next of all places, for each column. Means nothing when no steps are left.
  void step(std::size_t at) {
    const auto& state = *states_[at];
    next_.push_back(static_cast<std::uint16_t>(at));
    const bool done = search_ == Search::anywhere && !state.empty() && state.front() == RegexPlaces::kMatched;
    if (done) {
      next_.insert(next_.end(), table_.columns - 1, static_cast<std::uint16_t>(at));
      return;
    }
    for (const auto place : state) {
      const auto& next = next_places_[place];
      for (const auto column : table_.columns_of[places_.set_of[place]]) {
        if (!steps_.take(1 + next.size())) return;
        gathered_[column].add(next);
      }
    }
    for (std::size_t column = 1; column < table_.columns; ++column) {
      auto& there = gathered_[column];
      if (search_ == Search::anywhere) there.add(anew_);
      if (!steps_.take(kStateSteps + 4 * there.all().size())) return;
      next_.push_back(state_of(trim(there)));
    }
  }

  Places trimmed(const Places& places) {
    auto& all = gathered_.front();
    all.add(places);
    return trim(all);
  }

  // Takes out what adds nothing beside others, and empties `gathered`.
  Places trim(Gathered& gathered) {
    Places kept;
    if (search_ == Search::anywhere && gathered.has(RegexPlaces::kMatched)) {
      kept.push_back(RegexPlaces::kMatched);
    } else {
      for (const auto place : gathered.all()) {
        const auto& above = above_[place];
        if (!steps_.take(1 + above.size())) break;
        if (std::none_of(above.begin(), above.end(), [&](Place other) { return gathered.has(other); })) {
          kept.push_back(place);
        }
      }
    }
    gathered.clear();
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  std::uint16_t state_of(const Places& places) {
    const auto [known, fresh] =
        known_.emplace(State(places.begin(), places.end()), static_cast<std::uint16_t>(states_.size()));
    if (fresh) states_.push_back(&known->first);
    return known->second;
  }

  const RegexPlaces& places_;
  const CodePointTable& table_;
  Search search_;
  Steps& steps_;
  std::vector<Places> above_;
  std::vector<Places> next_places_;
  Places anew_;                     // where a match may begin inside of the text
  std::vector<Gathered> gathered_;  // for each column
  std::unordered_map<State, std::uint16_t> known_;
  std::vector<const State*> states_;  // stand in `known_`
  std::vector<std::uint16_t> next_;   // by state and column
};

}  // namespace

Result<RegexAutomaton> RegexAutomaton::make(const RegexPlaces& places, Search search, Steps& steps) {
  auto table = tell_apart(places.sets);
  if (!table) {
    return fail("policy.pattern",
                "the regular expression tells too many characters apart; write it as several expressions");
  }
  Maker maker(places, *table, search, steps);
  if (auto made = maker.run(); !made) return tl::unexpected(made.error());
  return RegexAutomaton(std::move(*table), maker.next(), maker.accepts());
}

Tri RegexAutomaton::read(std::string_view text) const {
  // INVARIANT: a row has an entry for each byte, a state a cell for each column, and what stands in them is a
  // row, a column or a state that there is. So nothing is checked here, which would make it slower by half.
  const auto* entries = reader_.entries.data();
  const auto* next = next_.data();
  std::size_t row = 0, state = 0;
  for (const char c : text) {
    // SAFETY: by the invariant.
    const std::size_t entry = entries[row + static_cast<unsigned char>(c)];
    row = entry & CodePointTable::kRow;
    state = next[state + (entry & CodePointTable::kColumn)];
  }
  if (row != 0) return Tri::unknown;
  return accepts_[state / reader_.columns] ? Tri::yes : Tri::no;
}

}  // namespace policy
