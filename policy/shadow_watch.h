#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/clock.h"
#include "policy/program.h"
#include "policy/shadow.h"

namespace policy {

// Counts what shadow rules come to, and asks a shadow policy what it would decide. It lives on the deciding
// thread and outlives engines. Nothing it does, or fails to do, has any influence on a decision.
class ShadowWatch final {
 public:
  // What was never asked for so long tries nothing out.
  static constexpr std::chrono::hours kIdle{24};

  // The clock outlives it.
  explicit ShadowWatch(const Clock& clock) : clock_(clock) {}

  // The program in force, whose shadow rules are counted from now on. A rule that another program had under
  // the same id and effect in the same tier goes on counting.
  void in_force(const Program*);
  // The candidate beside it; null: none. Another one begins to count anew.
  void try_out(std::shared_ptr<const Program>);

  // What the candidate will be asked, as the program in force may lower numbers in it; nothing without one.
  std::optional<Request> as_asked(const Request&) const noexcept;
  // After the program in force has judged. What the candidate says, where its effect is another.
  std::optional<ShadowVerdict> watch(std::optional<Request> asked, const Request& judged,
                                     const Facts& settings, const Judgement&) noexcept;

  struct Counts {
    std::uint64_t evaluated = 0;
    std::uint64_t matched = 0;  // of a policy: a rule of it spoke
    std::uint64_t changed = 0;  // the answer would have been another
    std::chrono::sys_time<std::chrono::nanoseconds> since;
    std::chrono::nanoseconds since_boot{};
  };
  struct CountedRule {
    ShadowRule rule;
    Counts counts;
  };
  const std::vector<CountedRule>& rules() const { return rules_; }
  const Program* candidate() const { return candidate_.get(); }
  const Counts& candidate_counts() const { return counts_; }
  // Never evaluated, although there for kIdle.
  bool idle(const Counts&) const;

 private:
  Counts fresh() const;

  const Clock& clock_;
  std::vector<CountedRule> rules_;
  std::shared_ptr<const Program> candidate_;
  Counts counts_;
};

}  // namespace policy
