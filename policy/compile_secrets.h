#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/compile_scope.h"
#include "policy/rule.h"

namespace policy {

// The section `secrets:` of one file, added to the scope of its tier. Operators have secrets: the tiers that
// a project or a client brings along must not name any.
void compile_secrets(const yaml::Node& file, const ReadInto&, Scope&);

// What a rule of `web:` injects. A secret goes only where its own entry and the rule both let it, so a rule
// that could never inject it is an error too.
std::vector<std::shared_ptr<const Secret>> compile_injections(const yaml::Entry&, const Rule&, bool of_web,
                                                              const std::string& what, const Scope&,
                                                              const ReadInto&);

}  // namespace policy
