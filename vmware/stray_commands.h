#pragma once

#include <cstddef>
#include <string>

namespace vmware {

// Kills what a dead owner's vmrun commands are still at: processes of our user that run `program` (or a
// program of its file name) and have `word`, the path of a sandbox's .vmx, as an argument. One that goes on
// after the sandbox was cleared away would make it again, without a marker, and nobody would ever remove it.
// Returns how many there were. Blocks for as long as they take to die, at most half a second for each.
std::size_t end_stray_commands(const std::string& program, const std::string& word);

}  // namespace vmware
