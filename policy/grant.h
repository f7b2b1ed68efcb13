#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policy/decision.h"
#include "policy/enforcer.h"
#include "policy/request.h"

namespace policy {

// What every grant shares, whatever was granted.
struct Judged {
  Request request;
  RuleRef rule;
  std::string people;  // Judgement::ask_who, when a person's approval let it pass
  Sha256 policy;
  Receipt receipt;  // of the decision's record
  Proofs proofs;
  Labels labels;  // what a sandbox that this makes begins with
  std::vector<Injection> injections = {};
};

// Writes the one outcome of a decision. Made by the engine only.
class Ticket {
 public:
  virtual ~Ticket() = default;
  virtual Result<Receipt> close(const Judged&, const Outcome&) noexcept = 0;
};

// Permission to do one thing once. Only the engine makes them, after the record of the decision stands. A
// function with an effect takes one by value and uses nothing but what it carries. If this could be made
// elsewhere, an action could happen that nobody decided and no log shows.
//
// INVARIANT: each grant leaves exactly one outcome: close(), or `abandoned` when it vanishes.
template <class A>
class [[nodiscard]] Grant final {
 public:
  Grant(Grant&& other) noexcept = default;
  Grant& operator=(Grant&&) = delete;
  Grant(const Grant&) = delete;
  Grant& operator=(const Grant&) = delete;
  ~Grant() {
    if (ticket_) (void)ticket_->close(*judged_, Outcome{.ok = false, .code = "abandoned"});
  }

  const A& action() const { return *std::get_if<A>(&judged().request.what); }
  const Subject& who() const { return judged().request.who; }
  const std::optional<SandboxFacts>& sandbox() const { return judged().request.sandbox; }
  const Correlation& correlation() const { return judged().request.id; }
  const Receipt& receipt() const { return judged().receipt; }
  const RuleRef& rule() const { return judged().rule; }
  const Labels& labels() const { return judged().labels; }
  // What the operator keeps for the site and the request gets, in no other request than this.
  const std::vector<Injection>& injections() const { return judged().injections; }
  // For the actions that this one causes.
  Caller cause() const {
    Caller caller{judged().request.who, judged().request.id};
    caller.id.parent = judged().receipt.seq;
    return caller;
  }
  // Null when the check that would have left it did not run for this action.
  template <class P>
  P* proof() const {
    return judged().proofs.template find<P>();
  }

  // Records how it ended. Aborts when called a second time.
  Result<Receipt> close(const Outcome& outcome) {
    if (!ticket_) spent();
    const auto ticket = std::move(ticket_);
    return ticket->close(*judged_, outcome);
  }

 private:
  friend class Engine;
  Grant(std::unique_ptr<Judged> judged, std::unique_ptr<Ticket> ticket)
      : judged_(std::move(judged)), ticket_(std::move(ticket)) {}
  const Judged& judged() const {
    if (!judged_) spent();
    return *judged_;
  }
  [[noreturn]] static void spent();

  std::unique_ptr<Judged> judged_;
  std::unique_ptr<Ticket> ticket_;
};

[[noreturn]] void grant_was_spent();
template <class A>
void Grant<A>::spent() {
  grant_was_spent();
}

// Refused. Everything a caller needs to say so, and nothing he may not see.
struct Denial {
  std::string code;
  RuleRef rule;
  std::string reason;
  std::string hint;
  Sha256 policy;
  std::optional<Receipt> receipt;  // empty when the log itself failed
};

// A person must say yes first.
struct Ask {
  RuleRef rule;
  std::string reason;
  std::string who;  // which people count: Judgement::ask_who
  std::chrono::seconds within{};
  Sha256 action;  // what exactly is asked
  std::string action_name;
  Json what;      // the same for people: describe() of the action
  Sha256 policy;  // of the policy that asks
  std::optional<Receipt> receipt;
};

template <class A>
using Verdict = std::variant<Grant<A>, Ask, Denial>;

// Decided, and handed to the log; the verdict is there once the record stands as its class demands.
template <class A>
class [[nodiscard]] Pending final {
 public:
  using Then = std::function<void(Verdict<A>)>;
  // Calls `then` exactly once: inline when the record already stands, else on the log's thread.
  void settle(Then then) && { start_(std::move(then)); }

 private:
  friend class Engine;
  explicit Pending(std::function<void(Then)> start) : start_(std::move(start)) {}
  std::function<void(Then)> start_;
};

}  // namespace policy
