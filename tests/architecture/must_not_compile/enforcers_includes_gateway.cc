// ROOM: enforcers
// EXPECT: file not found|No such file
#ifdef SALLYPORT_VIOLATION
#include "gateway/mcp/session.h"
#endif
#include "policy/result.h"

policy::Result<int> nothing() { return 0; }
