#pragma once

#include <cstddef>
#include <string>

#include "vmware/standin/machine.h"

namespace standin {

// Whether the records (.vmsd) at `path` are of a clone of this machine.
bool are_of_clone(const std::string& path, const Machine& parent);
// The .vmx of a linked clone that may still stand on the snapshot; empty when none can. A clone that is not
// where it was made may have been moved, so only `deleteVM` and a clone that was never finished count as
// gone.
std::string standing_clone(const Machine& parent, const Snapshot& snapshot);
// That snapshot cannot be deleted, and what to do.
policy::Error clones_error(const std::string& clone);
// Who removes a clone without deleteVM leaves its record. Such records would add up, and the file with them
// has a limit; of the clones that are not where they were made only the newest are remembered.
inline constexpr std::size_t kMostAbsent = 500;
void drop_oldest_absent(Snapshot& snapshot);
// Takes the clone out of the record of the machine it came from.
void forget_clone(const Machine& clone);

}  // namespace standin
