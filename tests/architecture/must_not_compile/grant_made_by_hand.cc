// ROOM: gateway
// EXPECT: private
#include "policy/grant.h"

#ifdef SALLYPORT_VIOLATION
policy::Grant<policy::Run> forge(std::unique_ptr<policy::Judged> judged) {
  return policy::Grant<policy::Run>(std::move(judged), nullptr);
}
#else
policy::Grant<policy::Run> pass_on(policy::Grant<policy::Run> grant) { return grant; }
#endif
