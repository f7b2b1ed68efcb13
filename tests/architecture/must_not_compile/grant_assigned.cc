// ROOM: vmware
// EXPECT: deleted (operator|function)|selected deleted
#include "policy/grant.h"

// A grant that is overwritten would vanish without its own outcome being chosen.
void overwrite(policy::Grant<policy::Run> one, policy::Grant<policy::Run> other) {
#ifdef SALLYPORT_VIOLATION
  one = std::move(other);
#else
  policy::Grant<policy::Run> third(std::move(other));
#endif
  (void)one.receipt();
}
