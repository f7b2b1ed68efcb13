#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "policy/result.h"

namespace gateway::doctor {

// What a program prints on stdout and stderr, of at most 64 KiB, when it ends with 0 in time. Codes:
// program.start, program.failed, program.timeout (it was killed).
policy::Result<std::string> output_of(std::vector<std::string> words, std::chrono::milliseconds within);

// The program of this name in the first of the folders that has it; empty when none has.
std::string program_in(const std::vector<std::string>& folders, const std::string& name);

// Folders of $PATH, and those where Debian keeps administrators' programs.
std::vector<std::string> program_folders();

enum class Access { usable, denied, absent };
// Whether this user may read and write a device.
Access access_of(const std::string& device);

}  // namespace gateway::doctor
