#pragma once

#include "vmware/standin/files.h"

namespace standin {

enum class Sockets { none, internet };

// From here on this process, whatever it becomes, gets EPERM for the system calls an emulator has no use for:
// new processes, tracing and signalling others, other identities, namespaces, mounts, keys, modes and owners
// of files, io_uring, sockets (with `internet`: all but TCP and UDP). Without it a process that breaks out of
// the emulator could reach, for example, the caller's own Unix sockets, which Landlock does not cover.
// Needs PR_SET_NO_NEW_PRIVS.
Result<> forbid_system_calls(Sockets sockets);

}  // namespace standin
