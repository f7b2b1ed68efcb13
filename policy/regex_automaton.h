#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/regex_order.h"
#include "policy/regex_places.h"
#include "policy/regex_reader.h"
#include "policy/result.h"
#include "policy/tri.h"

namespace policy {

// A deterministic automaton, made whole: reading a text takes two look-ups a byte, whatever the expression
// and the text, and no memory. Its states are sets of places.
class RegexAutomaton final {
 public:
  static constexpr std::size_t kMaxStates = 2000;
  static constexpr std::size_t kMaxCells = 32 * 1024;  // of two bytes, in both tables

  // Code: policy.pattern, when it would need more of something than there may be.
  static Result<RegexAutomaton> make(const RegexPlaces&, Search, Steps&);

  // `unknown` for what is not UTF-8. Its time depends on the length of the text alone.
  Tri read(std::string_view text) const;

  std::size_t states() const { return accepts_.size(); }
  std::size_t cells() const { return reader_.entries.size() + next_.size(); }

 private:
  RegexAutomaton(CodePointTable reader, std::vector<std::uint16_t> next, std::vector<bool> accepts)
      : reader_(std::move(reader)), next_(std::move(next)), accepts_(std::move(accepts)) {}

  CodePointTable reader_;
  // By state and column. A state is where its cells begin; the first of them stays in it.
  std::vector<std::uint16_t> next_;
  std::vector<bool> accepts_;  // of each state, where the text ends
};

}  // namespace policy
