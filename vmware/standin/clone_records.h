#pragma once

#include <string>

#include "vmware/standin/machine.h"

namespace standin {

// The .vmx of a linked clone that may still stand on the snapshot; empty when none can. A clone that is not
// where it was made may have been moved, so only `deleteVM` and a clone that was never finished count as
// gone.
std::string standing_clone(const Machine& parent, const Snapshot& snapshot);
// That snapshot cannot be deleted, and what to do.
policy::Error clones_error(const std::string& clone);
// Takes the clone out of the record of the machine it came from.
void forget_clone(const Machine& clone);

}  // namespace standin
