// ROOM: gateway
// EXPECT: rvalue|discards qualifiers|passing
#include "policy/grant.h"

void ask(policy::Pending<policy::Run> pending) {
#ifdef SALLYPORT_VIOLATION
  pending.settle([](policy::Verdict<policy::Run>) {});
#else
  std::move(pending).settle([](policy::Verdict<policy::Run>) {});
#endif
}
