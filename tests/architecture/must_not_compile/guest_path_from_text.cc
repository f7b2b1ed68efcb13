// ROOM: vmware
// EXPECT: no viable (conversion|overloaded)|could not convert|no match|cannot convert
#include "policy/action.h"

void aim(policy::FetchOut& action, const std::string& text) {
#ifdef SALLYPORT_VIOLATION
  action.guest_path = text;
#else
  action.guest_path = policy::GuestPath::parse(text).value();
#endif
}
