#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "policy/decision.h"

namespace policy {

enum class Meter {
  sandboxes,    // existing and being created
  sandbox_age,  // seconds from creation
  calls,        // tool calls in a window
  jobs,         // background commands running in one sandbox
  copy_bytes,   // of one copy
  copy_files,   // of one copy
};
enum class Per { everyone, principal, session, sandbox };

// One line of a policy's `limits:`. All limits apply; the smallest counts.
struct Limit {
  RuleRef rule;
  Meter meter = Meter::sandboxes;
  Per per = Per::everyone;
  std::int64_t max = 0;           // count, bytes, or seconds for sandbox_age
  std::chrono::seconds window{};  // for calls
  std::int64_t burst = 0;  // for calls: how many at once, refilled as `max` in a `window`; 0: no such bound
};

std::string_view spelling(Meter);
std::optional<Meter> meter_from(std::string_view);
std::string_view spelling(Per);
std::optional<Per> per_from(std::string_view);

}  // namespace policy
