// ROOM: gateway
// EXPECT: nodiscard|unused-result
#include "policy/engine.h"

void ask(policy::Engine& engine, const policy::Caller& caller) {
#ifdef SALLYPORT_VIOLATION
  engine.decide(caller, policy::List{});
#else
  auto pending = engine.decide(caller, policy::List{});
  (void)pending;
#endif
}
