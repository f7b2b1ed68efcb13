// ROOM: audit
// EXPECT: file not found|No such file
#ifdef SALLYPORT_VIOLATION
#include "vmware/vmx.h"
#endif
#include "policy/result.h"

policy::Result<int> nothing() { return 0; }
