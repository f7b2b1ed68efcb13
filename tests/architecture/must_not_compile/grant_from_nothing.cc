// ROOM: gateway
// EXPECT: no matching (constructor|function)
#include "policy/grant.h"

void make() {
#ifdef SALLYPORT_VIOLATION
  policy::Grant<policy::Destroy> grant;
#else
  policy::Grant<policy::Destroy>* grant = nullptr;
#endif
  (void)grant;
}
