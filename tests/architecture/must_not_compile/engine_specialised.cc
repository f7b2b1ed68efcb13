// ROOM: gateway
// EXPECT: no function template|not a template function|does not match any template|no member function
#include "policy/engine.h"

struct Anything {};

#ifdef SALLYPORT_VIOLATION
template <>
policy::Pending<Anything> policy::Engine::decide(const policy::Caller&, Anything);
#endif
