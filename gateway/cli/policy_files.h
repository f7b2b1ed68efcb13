#pragma once

#include <string>
#include <vector>

#include "gateway/settings/settings.h"
#include "policy/compile.h"

namespace gateway::cli {

// The policies a command is about: the files named, and of folders the *.yaml directly in them;
// without any, those in force for these settings. Files keep the names they were given by. Codes:
// file.missing, file.unreadable, file.too_large, policy.none.
Result<std::vector<policy::Source>> policy_sources(const Sources&, const std::vector<std::string>& paths);

// Findings as a terminal may get them, each with its line.
std::string findings_text(const std::vector<policy::Diagnostic>&, const std::vector<policy::Source>&);

}  // namespace gateway::cli
