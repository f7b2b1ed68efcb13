#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "enforcers/input_gate.h"
#include "enforcers/path_jail/jails.h"
#include "enforcers/vmrun_allowlist.h"
#include "enforcers/web_gate.h"
#include "policy/clock.h"
#include "policy/enforcer.h"
#include "policy/inventory.h"

namespace enforcers {

struct BuiltinParts {
  std::shared_ptr<const Jails> transfers =
      {};  // the transfer folder of each caller; null: copies are refused
  VmrunShapes vmrun;
  RemoteInput remote_input = RemoteInput::off;
  const policy::Inventory* inventory = nullptr;  // outlives the enforcers
  const policy::Clock* clock = nullptr;          // outlives the enforcers
};

// All enforcers there are, in the order in which they are asked.
std::vector<std::unique_ptr<policy::Enforcer>> builtin(BuiltinParts);

}  // namespace enforcers
