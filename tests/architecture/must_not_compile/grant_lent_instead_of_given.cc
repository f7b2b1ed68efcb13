// ROOM: vmware
// EXPECT: deleted (constructor|function)|call to deleted
#include "vmware/machines.h"

// An effect takes the grant away from its caller, so that it cannot be used a second time.
void destroy(vmware::Machines& machines, policy::Grant<policy::Destroy> grant) {
#ifdef SALLYPORT_VIOLATION
  auto work = machines.destroy(grant);
#else
  auto work = machines.destroy(std::move(grant));
#endif
}
