#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/settings/settings.h"
#include "policy/compile.h"

namespace gateway {

inline constexpr char kSystemPolicies[] = "/etc/sallyport/policy.d";

// All policy files that apply: *.yaml of the system's folder as the highest tier, then the configured files
// and folders, else the built-in default. Files that cannot be read are problems, and so is anything in one
// of the folders that another user than its owner (the system's: `trusted`) could have written: a rule that
// is silently left out would allow what it denies.
struct PolicyFiles {
  std::vector<policy::Source> sources;
  std::vector<policy::Error> problems;
};
PolicyFiles read_policies(const Settings&, const std::string& system_folder = kSystemPolicies,
                          std::uint32_t trusted = 0);

// One policy file, with the name that messages give it. Codes: file.missing, file.unreadable, file.too_large.
Result<policy::Source> read_policy(const std::string& path, std::string name);
// What runs when nothing is configured.
policy::Source built_in_policy();

// What these files look like from outside: another text when one of them was changed, came or went. Reads
// nothing.
std::string look_of_policies(const Settings&, const std::string& system_folder = kSystemPolicies,
                             std::uint32_t trusted = 0);

}  // namespace gateway
