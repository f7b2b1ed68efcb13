#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace gateway::doctor {

enum class Health { good, notice, bad, skipped };
std::string_view spelling(Health);

// What one look at one thing came to. `mend` is what to do, for all that is not good.
struct Finding {
  std::string check;
  Health health = Health::good;
  std::string says;
  std::string mend = {};
  std::chrono::milliseconds took{-1};  // of steps that take time; negative for none
};

struct Report {
  std::vector<Finding> findings;
  void add(Finding finding) { findings.push_back(std::move(finding)); }
  // Nothing is bad; notices are no failure.
  bool healthy() const;
};

// For a person: one line a finding, what to do below it. Text of guests and files is escaped.
std::string to_text(const Report&);
// `{"ok":…,"checks":[{"check","health","says","mend","ms"}]}`
std::string to_json(const Report&);

}  // namespace gateway::doctor
