// ROOM: gateway
// EXPECT: no viable|could not convert|no match for|cannot convert
#include "policy/action.h"

void swap_sides(policy::CopyIn& action, policy::HostPath host) {
#ifdef SALLYPORT_VIOLATION
  action.guest_path = host;
#else
  action.host_path = host;
#endif
}
