#include "enforcers/builtin.h"

#include "enforcers/limits.h"
#include "enforcers/path_jail/enforcer.h"

namespace enforcers {

std::vector<std::unique_ptr<policy::Enforcer>> builtin(BuiltinParts parts) {
  std::vector<std::unique_ptr<policy::Enforcer>> all;
  all.push_back(std::make_unique<VmrunAllowlist>(std::move(parts.vmrun)));
  all.push_back(std::make_unique<InputGate>(parts.remote_input));
  all.push_back(std::make_unique<WebGate>());
  all.push_back(PathJail::of_callers(std::move(parts.transfers)));
  all.push_back(std::make_unique<Limits>(*parts.inventory, *parts.clock));  // last: it counts what is allowed
  return all;
}

}  // namespace enforcers
