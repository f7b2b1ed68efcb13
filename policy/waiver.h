#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/diagnostic.h"

namespace policy {

// What a waiver says of itself: it lifts a rule of its tier, to the end of a day in UTC.
struct WaiverTerms {
  RuleRef ref;
  std::string lifts;
  std::chrono::sys_days until;  // the last day
  std::string reason;
  std::string file;
  Position until_at;  // where the day is written
};

// A warning ahead of the end. `ended`: the day is over.
enum class WaiverState { good, ends_soon, ended };
inline constexpr std::chrono::days kWaiverWarning{14};
std::string_view spelling(WaiverState);
WaiverState state_of(const WaiverTerms&, std::chrono::sys_days today);

// What is to be told of waivers on a day: one that has ended is an error, one that ends soon a warning.
std::vector<Diagnostic> waiver_findings(const std::vector<WaiverTerms>&, std::chrono::sys_days today);

}  // namespace policy
