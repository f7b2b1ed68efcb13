#pragma once

#include "vmware/standin/runtime.h"

namespace standin {

// What is kept of a machine that does not run.
void remove_entry(const RuntimeEntry& entry);
// Removes the entries of machines that are off and whose .vmx is another file by now, or gone.
void sweep_entries();

}  // namespace standin
