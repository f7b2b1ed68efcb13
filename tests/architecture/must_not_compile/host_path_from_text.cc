// ROOM: enforcers
// EXPECT: no matching (constructor|conversion|function)|could not convert|no viable
#include "policy/path.h"

policy::HostPath path(const std::string& text) {
#ifdef SALLYPORT_VIOLATION
  return policy::HostPath(text);
#else
  return policy::HostPath::parse(text).value();
#endif
}
