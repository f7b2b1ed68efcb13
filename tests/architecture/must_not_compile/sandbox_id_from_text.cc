// ROOM: gateway
// EXPECT: private|no matching (constructor|conversion|function)
#include "policy/ids.h"

policy::SandboxId id(const std::string& text) {
#ifdef SALLYPORT_VIOLATION
  return policy::SandboxId(text);
#else
  return policy::SandboxId::parse(text).value();
#endif
}
