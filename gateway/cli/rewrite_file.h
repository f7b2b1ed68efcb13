#pragma once

#include <string>

#include "policy/result.h"

namespace gateway::cli {

// Replaces what a file holds at once, by a rename; owner's rights of the file stay, and a link stays one to
// it. Code: file.write.
policy::Result<void> rewrite_file(const std::string& path, const std::string& bytes);

}  // namespace gateway::cli
