// ROOM: policy
// EXPECT: file not found|No such file
#ifdef SALLYPORT_VIOLATION
#include "audit/log.h"
#endif
#include "policy/result.h"

policy::Result<int> nothing() { return 0; }
