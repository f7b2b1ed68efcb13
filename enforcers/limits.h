#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "policy/clock.h"
#include "policy/enforcer.h"
#include "policy/inventory.h"

namespace enforcers {

// The places taken by grants whose things the inventory does not count yet. Thread-safe; outlives the grants.
class Places;

// Counts against the policy's `limits:`. What `system` does is never limited, nor is what makes things fewer:
// destroying, stopping, listing, the kill switch. Posture: bounds what a caller or a sandbox can use up;
// calls are counted only when everything else allowed them, so it comes last.
class Limits final : public policy::Enforcer {
 public:
  // Both outlive the enforcer.
  Limits(const policy::Inventory& inventory, const policy::Clock& clock);
  std::string_view name() const override { return "limits"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs&) noexcept override;

 private:
  // Calls in a sliding window, in slices of a sixteenth of it. Counts whole slices, so never too few.
  struct Window {
    std::deque<std::pair<std::int64_t, std::int64_t>> slices;  // number of the slice, calls in it
    std::int64_t sum = 0;
  };

  std::optional<policy::Objection> judge(const policy::Request&, const policy::Limit&);
  std::optional<policy::Objection> judge_calls(const policy::Request&, const policy::Limit&);
  void count_call(const policy::Request&, std::span<const policy::Limit>);
  std::optional<policy::Objection> judge_bucket(const policy::Request&, const policy::Limit&) const;
  void take_from_bucket(const policy::Request&, const policy::Limit&);
  Window& window_of(const policy::Request&, const policy::Limit&, std::int64_t slice);

  const policy::Inventory& inventory_;
  const policy::Clock& clock_;
  std::shared_ptr<Places> places_;
  std::map<std::string, Window, std::less<>> windows_;
  // Of limits with a burst: when each bucket will be full again, since boot. One that is not here is full.
  std::map<std::string, std::chrono::nanoseconds, std::less<>> buckets_;
};

}  // namespace enforcers
