#pragma once

#include <string>
#include <vector>

#include "policy/compare.h"
#include "policy/witness.h"

// What `policy diff` prints: changes as written, and what they make possible.
namespace policy {

struct Difference {
  std::vector<Change> changes;
  WitnessSearch search;
  // Something became possible for certain.
  bool widens() const;
};

Difference difference(const Anatomy& before, const Anatomy& after);

Json to_json(const Difference&);
std::string to_text(const Difference&);

}  // namespace policy
