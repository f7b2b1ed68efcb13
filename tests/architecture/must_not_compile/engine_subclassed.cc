// ROOM: gateway
// EXPECT: final
#include "policy/engine.h"

#ifdef SALLYPORT_VIOLATION
class Lenient : public policy::Engine {
  using policy::Engine::Engine;
};
#else
class Lenient {
  policy::Engine* engine = nullptr;
  policy::Engine* get() const { return engine; }
};
#endif
