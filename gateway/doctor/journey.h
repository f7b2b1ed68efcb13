#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "gateway/doctor/report.h"
#include "policy/result.h"

namespace gateway::doctor {

// The door that every client uses: one tool call to its end.
class Door {
 public:
  virtual ~Door() = default;
  virtual policy::Result<nlohmann::json> call(std::string_view tool, const nlohmann::json& arguments,
                                              std::chrono::milliseconds within) = 0;
};

// One sandbox's whole life: create, run, copy in, read what arrived, copy out, compare, screenshot, destroy.
// A step that fails ends it, but what was created is destroyed in any case. Files go through `transfer`, the
// caller's transfer folder, in a folder of their own that is removed again.
void journey(Door&, const std::string& transfer, Report&);

}  // namespace gateway::doctor
