#include "policy/waiver.h"

#include "policy/units.h"
#include "policy/wording.h"

namespace policy {

std::string_view spelling(WaiverState state) {
  switch (state) {
    case WaiverState::good:
      return "good";
    case WaiverState::ends_soon:
      return "ends soon";
    case WaiverState::ended:
      break;
  }
  return "ended";
}

WaiverState state_of(const WaiverTerms& waiver, std::chrono::sys_days today) {
  if (today > waiver.until) return WaiverState::ended;
  return waiver.until - today <= kWaiverWarning ? WaiverState::ends_soon : WaiverState::good;
}

std::vector<Diagnostic> waiver_findings(const std::vector<WaiverTerms>& waivers,
                                        std::chrono::sys_days today) {
  std::vector<Diagnostic> found;
  for (const auto& waiver : waivers) {
    const auto name = "waiver " + quoted(waiver.ref.id);
    switch (state_of(waiver, today)) {
      case WaiverState::good:
        break;
      case WaiverState::ends_soon:
        found.push_back({Severity::warning, "P0178", waiver.file, waiver.until_at,
                         name + " ends on " + spell_date(waiver.until) + "; from then on rule " +
                             quoted(waiver.lifts) + " holds again"});
        break;
      case WaiverState::ended:
        found.push_back(
            {Severity::error, "P0177", waiver.file, waiver.until_at,
             name + " ended on " + spell_date(waiver.until) + " and lifts nothing any more; remove it"});
        break;
    }
  }
  return found;
}

}  // namespace policy
