#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/settings/settings.h"
#include "policy/compile.h"
#include "vmware/settings.h"

namespace gateway {

// What the settings come to on this machine.
struct Setup {
  vmware::MachineSettings machine;
  // What is wrong, each with what to do. While there is any, no call is carried out.
  std::vector<policy::Error> problems;
};

// Looks at programs, image, folders. Makes the folders that are missing. Cheap enough to do again before each
// call.
Setup look_around(const Settings&);

inline constexpr char kSystemPolicies[] = "/etc/sallyport/policy.d";

// All policy files that apply: *.yaml of the system's folder as the highest tier, then the configured ones,
// else the built-in default. Files that cannot be read are problems, and so is anything in the system's
// folder that another user than `trusted` could have written: a rule that is silently left out would allow
// what it denies.
struct PolicyFiles {
  std::vector<policy::Source> sources;
  std::vector<policy::Error> problems;
};
PolicyFiles read_policies(const Settings&, const std::string& system_folder = kSystemPolicies,
                          std::uint32_t trusted = 0);

// All problems as one error: the first in full, the others shortly.
policy::Error as_one(const std::vector<policy::Error>& problems);

}  // namespace gateway
