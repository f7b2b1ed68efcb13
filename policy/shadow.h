#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/diagnostic.h"
#include "policy/facts.h"

namespace policy {

// A rule of a program that is judged like the others and never enforced.
struct ShadowRule {
  RuleRef ref;
  Effect effect = Effect::deny;
  ActionSet actions;
};

// Since when a rule has been tried, as its `since` says. What is tried for longer than this is forgotten.
struct ShadowSince {
  std::string rule;
  std::chrono::sys_days day;
  std::string file;
  Position at;
};
inline constexpr std::chrono::days kShadowWarning{90};

// What is to be told of them on a day.
std::vector<Diagnostic> shadow_findings(const std::vector<ShadowSince>&, std::chrono::sys_days today);

}  // namespace policy
