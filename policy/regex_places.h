#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/regex_syntax.h"
#include "policy/result.h"

namespace policy {

// What making an automaton may still take. One step is about a memory access, so that a count of them bounds
// the time, and the same pattern takes the same count everywhere.
class Steps final {
 public:
  explicit Steps(std::size_t limit) : left_(limit) {}
  // False from when there are none left.
  bool take(std::size_t count) {
    left_ = count < left_ ? left_ - count : 0;
    return left_ != 0;
  }
  std::size_t left() const { return left_; }

 private:
  std::size_t left_;
};

// The error of a pattern that would need more than `what`.
Error too_large(const std::string& what);

// An expression as the places in it where a code point is taken, each with the places that may come next.
struct RegexPlaces {
  using Place = std::uint16_t;
  static constexpr std::size_t kMax = 1000;
  // Stand among places, and take nothing: matched whatever follows, and matched if the text ends.
  static constexpr Place kMatched = 0;
  static constexpr Place kMatchedAtEnd = 1;

  std::vector<CodePoints> sets;               // each once
  std::vector<std::uint16_t> set_of;          // of each place, in `sets`
  std::vector<std::vector<Place>> next;       // of each place, in order
  std::vector<Place> first, first_if_inside;  // where the text begins; and where it has begun already

  std::size_t size() const { return set_of.size(); }
};

// Code: policy.pattern, when there are too many places or steps.
Result<RegexPlaces> places_of(const RegexTree&, Steps&);

}  // namespace policy
