// ROOM: gateway
// EXPECT: no matching (member )?function
#include "policy/engine.h"

void ask(policy::Engine& engine, const policy::Caller& caller) {
#ifdef SALLYPORT_VIOLATION
  auto pending = engine.decide(policy::List{});
  (void)caller;
#else
  auto pending = engine.decide(caller, policy::List{});
#endif
  (void)pending;
}
