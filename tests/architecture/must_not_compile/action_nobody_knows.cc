// ROOM: gateway
// EXPECT: no matching (member )?function
#include "policy/engine.h"

struct FormatTheHost {};

void ask(policy::Engine& engine, const policy::Caller& caller) {
#ifdef SALLYPORT_VIOLATION
  auto pending = engine.decide(caller, FormatTheHost{});
#else
  auto pending = engine.decide(caller, policy::List{});
#endif
  (void)pending;
}
