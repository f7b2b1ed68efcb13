#pragma once

#include <string>

#include "vmware/standin/machine.h"

namespace standin {

// The files a machine's disk and states are made of. Whoever calls these holds the machine.

// A name `<machine>-NNNNNN.qcow2` that nothing has yet.
Result<std::string> free_layer_name(const Machine& machine);

// Takes layers of removed snapshots out of a machine that is off, where one layer at most stands on them.
// What cannot be done stays for the next time; the machine is whole after each step.
void collapse_removed(Machine& machine);

// Deletes what earlier calls that were killed left behind: layers and states that no record names. Nothing if
// another machine is in the folder whose files could have such names.
void sweep(const Machine& machine);

// Deletes all that belongs to a machine but the .vmx. Interrupted, it can be done again.
void delete_files(const Machine& machine);

}  // namespace standin
