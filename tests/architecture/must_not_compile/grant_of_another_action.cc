// ROOM: vmware
// EXPECT: no viable conversion|could not convert|cannot convert
#include "vmware/machines.h"

void destroy(vmware::Machines& machines, policy::Grant<policy::Screenshot> look,
             policy::Grant<policy::Destroy> grant) {
#ifdef SALLYPORT_VIOLATION
  auto work = machines.destroy(std::move(look));
  (void)grant;
#else
  auto work = machines.destroy(std::move(grant));
  (void)look;
#endif
}
