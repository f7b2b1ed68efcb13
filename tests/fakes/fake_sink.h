#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/decision.h"

namespace fakes {

// A log in memory that numbers and keeps what it is given, as the real one does, and can be told to fail or
// to stall. Thread-safe; completions run without its lock held.
class FakeSink final : public policy::DecisionSink {
 public:
  struct Recorded {
    policy::Decision decision;
    policy::Durability durability;
    policy::Receipt receipt;
  };
  struct Closed {
    policy::Receipt decision;
    policy::Request request;
    policy::Outcome outcome;
    policy::Receipt receipt;
  };

  // From now on every append, close and note is refused with this error; nothing lifts it.
  void fail_with(std::optional<policy::Error> error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  // From now on completions of append() are held back until release().
  void stall() {
    const std::lock_guard lock(mutex_);
    stalled_ = true;
  }
  // Completes what was held back, in order, and stops stalling.
  void release() {
    std::vector<std::pair<policy::Completion, policy::Result<policy::Receipt>>> held;
    {
      const std::lock_guard lock(mutex_);
      stalled_ = false;
      held.swap(held_);
    }
    for (auto& [completion, result] : held) completion(std::move(result));
  }

  void append(const policy::Decision& decision, policy::Durability durability,
              policy::Completion completion) override {
    std::optional<policy::Result<policy::Receipt>> result;
    {
      const std::lock_guard lock(mutex_);
      if (error_) {
        result = tl::unexpected<policy::Error>(*error_);
      } else {
        result = next();
        decisions_.push_back({decision, durability, **result});
      }
      if (stalled_) {
        held_.emplace_back(std::move(completion), std::move(*result));
        return;
      }
    }
    completion(std::move(*result));
  }

  policy::Result<policy::Receipt> close(const policy::Receipt& decision, const policy::Request& request,
                                        const policy::Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    if (error_) return tl::unexpected<policy::Error>(*error_);
    if (!closed_.insert(decision.seq).second) {
      violations_.push_back("decision " + std::to_string(decision.seq) + " got a second outcome");
      return policy::fail("audit.outcome_twice", "the decision has an outcome already");
    }
    auto receipt = next();
    outcomes_.push_back({decision, request, outcome, receipt});
    return receipt;
  }

  policy::Result<policy::Receipt> note(const policy::Event& event) override {
    const std::lock_guard lock(mutex_);
    if (error_) return tl::unexpected<policy::Error>(*error_);
    events_.push_back(event);
    return next();
  }

  std::vector<Recorded> decisions() const { return copy(decisions_); }
  std::vector<Closed> outcomes() const { return copy(outcomes_); }
  std::vector<policy::Event> events() const { return copy(events_); }
  // Uses that the real log would not survive; a test asserts that there are none.
  std::vector<std::string> violations() const { return copy(violations_); }

 private:
  template <class T>
  std::vector<T> copy(const std::vector<T>& of) const {
    const std::lock_guard lock(mutex_);
    return of;
  }
  policy::Receipt next() {
    ++seq_;
    return {"fake", seq_, policy::sha256("record " + std::to_string(seq_)).hex()};
  }

  mutable std::mutex mutex_;
  std::optional<policy::Error> error_;
  bool stalled_ = false;
  std::uint64_t seq_ = 0;
  std::vector<Recorded> decisions_;
  std::vector<Closed> outcomes_;
  std::vector<policy::Event> events_;
  std::vector<std::string> violations_;
  std::set<std::uint64_t> closed_;
  std::vector<std::pair<policy::Completion, policy::Result<policy::Receipt>>> held_;
};

}  // namespace fakes
