#pragma once

#include <set>
#include <string>

#include "policy/compile_scope.h"

// What stands in a file and is of no use to anything there. Told to those who check a policy, never at load.
//
//   P0307  a set that no rule names
//   P0308  a subject that no rule, waiver, test or example names
//   P0310  a label that is asked about and never put, with one that is and is spelt nearly so
//   P0309  rules that no test or example is about: one finding a file, and none in a tier without tests
namespace policy {

// What was asked for in a tier while its files were compiled and tested.
struct TierUse {
  NamesUsed names;
  std::set<std::string, std::less<>> spoke;  // ids of rules that had their say in a test or example
  bool tested = false;                       // there are tests
};

void find_loose_ends(const yaml::Node& file, const TierUse&, const ReadInto&);

}  // namespace policy
