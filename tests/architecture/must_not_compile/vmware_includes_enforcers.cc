// ROOM: vmware
// EXPECT: file not found|No such file
#ifdef SALLYPORT_VIOLATION
#include "enforcers/archive/tar_reader.h"
#endif
#include "policy/result.h"

policy::Result<int> nothing() { return 0; }
