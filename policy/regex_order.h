#pragma once

#include <vector>

#include "policy/regex_places.h"
#include "policy/regex_reader.h"

namespace policy {

enum class Search { whole, anywhere };

// Of each place the others that match at least what it matches: beside one of them it adds nothing. Of places
// that match the same the first one stands for all. Not every such place is found, and none when the steps do
// not suffice; that makes an automaton larger, never wrong.
std::vector<std::vector<RegexPlaces::Place>> places_above(const RegexPlaces&, const CodePointTable&, Search,
                                                          Steps&);

}  // namespace policy
