#pragma once

#include <string_view>

// Unicode data for name_fold.cc, packed. A number is a group of digits of `0-9A-Za-z-_` (0 to 63), five bits
// each, the lowest first; 32 is added to every digit but a number's last. A signed number n is written as 2n,
// or as -2n-1 when negative.
namespace enforcers::fold {

// For each character that changes, in rising order: its distance from the one before, twice the count of
// characters it becomes (plus one when that is its decomposition, with no case folded), and for each of these
// the signed distance from the last one written. Hangul syllables are not in it; they are computed.
extern const std::string_view kFolds;

// The same, with plain counts, for the decompositions that keep the letter case.
extern const std::string_view kUpper;

// Canonical combining classes: for each run, its distance from the end of the one before, its length, its
// class. Characters not in it have class 0.
extern const std::string_view kCombining;

}  // namespace enforcers::fold
