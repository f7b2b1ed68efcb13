#pragma once

#include <string>
#include <vector>

#include "policy/anatomy.h"

// What two policies say differently, as they are written.
namespace policy {

struct Change {
  enum class How { added, removed, changed } how = How::changed;
  Tier tier = Tier::user;
  std::string kind;  // rule, vmrun rule, limit, set, subject, key
  std::string id;
  std::string was, is;  // on one line; empty where there is none
  bool widens = false;  // for certain: a limit that went or grew
};

// Examples do not count: they say nothing of what is decided. By tier, kind and id.
std::vector<Change> changes(const Anatomy& before, const Anatomy& after);

}  // namespace policy
