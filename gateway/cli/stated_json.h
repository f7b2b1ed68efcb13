#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "policy/result.h"
#include "policy/yaml.h"

namespace gateway::cli {

using policy::Result;

// Adds one member of a JSON object to a statement, as a test would say it. Plain numbers of sizes and times
// are bytes and seconds; null is what could not be found out. `key` may be `sandbox.…` or `settings.…`.
// Code: request.invalid.
Result<void> state_json(policy::yaml::Node& statement, std::string_view key, const nlohmann::json& value);

// Adds all members of an object, those of `sandbox` and `settings` one by one.
Result<void> state_json_object(policy::yaml::Node& statement, const nlohmann::json& object);

}  // namespace gateway::cli
