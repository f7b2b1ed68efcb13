#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gateway/policy_book.h"
#include "policy/clock.h"
#include "policy/decision.h"
#include "policy/shadow_watch.h"

namespace gateway {

// What is tried out on the calls of this gateway: shadow rules of the policy in force, and the policy that
// the setting `shadow_policy` names. Its files are read as those in force are; one that cannot be used is
// told of, and the last good one is tried on.
class PolicyTrial final {
 public:
  // All outlive it.
  PolicyTrial(const Settings&, const policy::Clock&, policy::DecisionSink&);

  void look(PolicyBook::Effort);
  policy::ShadowWatch& watch() { return watch_; }
  // Why the candidate's files as they are now are not tried; empty when they are, or when there are none.
  const std::vector<policy::Error>& problems() const { return book_.problems(); }
  nlohmann::json status() const;

 private:
  nlohmann::json counted(const policy::ShadowWatch::Counts&) const;

  const Settings settings_;  // with the candidate's files in place of those in force
  policy::DecisionSink& log_;
  const std::string since_;  // since when there are counts
  policy::ShadowWatch watch_;
  PolicyBook book_;
  std::string rejected_;  // what was said of the files last
};

// The waivers of a program as `policy status` tells them, each with whether it still holds.
nlohmann::json waivers_of(const policy::Program&, const policy::Clock&);

}  // namespace gateway
