// ROOM: gateway
// EXPECT: private
#include "policy/grant.h"

using Waiting = policy::Pending<policy::Run>;

#ifdef SALLYPORT_VIOLATION
Waiting forge() {
  return Waiting([](Waiting::Then) {});
}
#else
void wait(Waiting waiting) {
  std::move(waiting).settle([](policy::Verdict<policy::Run>) {});
}
#endif
