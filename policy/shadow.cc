#include "policy/shadow.h"

#include "policy/units.h"
#include "policy/wording.h"

namespace policy {

std::vector<Diagnostic> shadow_findings(const std::vector<ShadowSince>& rules, std::chrono::sys_days today) {
  std::vector<Diagnostic> found;
  for (const auto& rule : rules) {
    const auto name = "rule " + quoted(rule.rule);
    if (rule.day > today) {
      found.push_back(
          {Severity::warning, "P0313", rule.file, rule.at,
           name + " is in shadow since " + spell_date(rule.day) + ", a day that is still to come"});
    } else if (today - rule.day > kShadowWarning) {
      found.push_back({Severity::warning, "P0312", rule.file, rule.at,
                       name + " has been in shadow for " + std::to_string((today - rule.day).count()) +
                           " days; look at `sallyport policy status`, then enforce it or remove it"});
    }
  }
  return found;
}

}  // namespace policy
