#pragma once

#include "gateway/settings/settings.h"

namespace gateway {

// The one process of a state folder that holds log, policy and sandboxes. Serves until a signal, a `stop`
// greeting, or until it was idle for settings.idle_exit. `ready_fd` gets one byte when the socket listens; -1
// for none. Gives the process's exit code.
int run_owner(Settings settings, int ready_fd);

}  // namespace gateway
