// ROOM: vmware
// EXPECT: deleted (constructor|function)|call to deleted
#include "policy/grant.h"

policy::Grant<policy::Run> twice(policy::Grant<policy::Run> grant) {
#ifdef SALLYPORT_VIOLATION
  policy::Grant<policy::Run> second = grant;
  return second;
#else
  return grant;
#endif
}
