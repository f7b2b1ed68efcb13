#pragma once

#include "policy/enforcer.h"

namespace policy {

// Room that a limit keeps for what was granted, so that two grants don't share the last place. Held until the
// grant goes, or until whoever carries it out says that the inventory counts the thing itself. Forgetting to
// say so only makes the limit stricter meanwhile. Thread-safe.
class Reservation : public Proof {
 public:
  virtual void counted_elsewhere() = 0;
};

}  // namespace policy
