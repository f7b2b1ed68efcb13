#pragma once

#include <string>
#include <string_view>

#include "policy/mapping.h"
#include "policy/rule.h"

namespace policy {

// Whether a policy may name it as a method: in capitals, as they are compared.
bool is_method_name(std::string_view word);

// What a rule of `web:` says beside its conditions: the methods that its effect names, and what holds when it
// does not say it itself. A rule that lets through is about ports 80 and 443, and about https only as far as
// it can be judged. Reports what cannot be enforced.
void complete_web_rule(const yaml::Entry& effect, const yaml::Node& written, const std::string& what,
                       Rule& rule, const ReadInto& into);

}  // namespace policy
