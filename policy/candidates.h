#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policy/anatomy.h"

namespace policy {

// Values worth trying, by what a statement calls them: `network`, `sandbox.labels`, `settings.web`, `as`.
// Whatever neither policy asks about has one value or none.
using Pools = std::map<std::string, std::vector<yaml::Node>>;

// Those for one action, from the matchers of the rules about it in any of the policies that `counts` takes.
Pools pools_for(const ActionWord&, const std::vector<const Anatomy*>&,
                const std::function<bool(const Rule&)>& counts);

// The statements of all tests, each with its `call`, and of all examples that are maps and say theirs.
std::vector<yaml::Node> stated_in(const Anatomy&);

}  // namespace policy
