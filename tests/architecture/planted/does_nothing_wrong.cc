// A file that holds and moves a grant has no door.
#include "policy/grant.h"

void use(policy::Grant<policy::Run> grant) {
  policy::Grant<policy::Run> moved(std::move(grant));
  (void)moved.close(policy::Outcome{.ok = true, .code = "ok"});
}
