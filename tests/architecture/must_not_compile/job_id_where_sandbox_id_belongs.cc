// ROOM: gateway
// EXPECT: no viable|could not convert|no match for|cannot convert
#include "policy/action.h"

void mix_up(policy::Stop& action, policy::JobId job) {
#ifdef SALLYPORT_VIOLATION
  action.sandbox = job;
#else
  action.job = job;
#endif
}
