#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/settings/settings.h"
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

// All problems as one error: the first in full, the others shortly.
policy::Error as_one(const std::vector<policy::Error>& problems);

}  // namespace gateway
