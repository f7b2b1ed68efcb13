#pragma once

#include <bitset>
#include <string>
#include <utility>
#include <vector>

#include "policy/axis.h"
#include "policy/rule.h"

namespace policy {

// Calls for which everything in it holds.
struct Box {
  std::vector<Asked> asked;
  bool vague = false;  // also asks what is not understood here: the calls are some of these
};

// A call by its values on some axes; any others it may have.
using Point = std::vector<std::pair<Axis, AxisValue>>;

// The calls of one action that a rule matches when everything is known: those of any of its boxes.
//
// INVARIANT: a rule answers a question with what is not known as the best of its boxes would, a box as the
// worst of what it asks. So where no box was emptied, a rule that is not certainly silent is about some call
// that the question may turn out to be.
struct Region {
  std::vector<Box> boxes;            // none of them is empty
  std::vector<std::string> emptied;  // axes on which the boxes that were left out ask for the impossible
  bool given_up = false;             // too much to say; nothing follows from it
  bool waits = false;  // beside them, calls that go on because the rule may ask about what follows
};

// Facts that an action has and that are not known when it is decided.
struct Unseen {
  std::bitset<kFacts> later;   // until the same thing is asked again
  std::bitset<kFacts> hidden;  // in some of its calls until then, in the others never
};
Region region_of(const Rule&, const Unseen&, std::size_t& steps);
// Of `when:` alone.
Region region_without_exception(const Rule&, const Unseen&, std::size_t& steps);

// A call of `box` that is in none of `others`. What is vague in `box` counts as met; `others` are not vague.
struct Outside {
  Meeting::End end;
  Point point = {};
};
Outside outside(const Box& box, const std::vector<const Box*>& others, std::size_t& steps);

// Whether a box has a call in common with another. What is vague counts as met.
Meeting::End overlap(const Box&, const Box&, std::size_t& steps);

bool contains(const Box&, const Question&);

}  // namespace policy
