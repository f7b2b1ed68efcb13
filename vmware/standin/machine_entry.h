#pragma once

#include <vector>

#include "vmware/standin/machine.h"
#include "vmware/standin/runtime.h"

namespace standin {

// The entry of a machine, not necessarily existing. One that runs is found by its lock too: under another
// runtime folder, or by its process alone when that folder is gone or its .vmx was replaced.
Result<RuntimeEntry> entry_of(const Machine& machine);
// Machines of the runtime folder whose process is alive, whether or not it answers. Sorted by path. Entries
// of machines that are off and whose .vmx is gone are removed on the way.
Result<std::vector<RuntimeEntry>> running_machines();

}  // namespace standin
