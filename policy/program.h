#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/limit.h"
#include "policy/request.h"

namespace policy {

// What the rules say about one question, before any enforcer.
struct Judgement {
  Effect effect = Effect::deny;
  std::string code;
  RuleRef rule;
  std::string reason;
  std::string hint;
  std::vector<RuleRef> matched;
  std::vector<std::string> unknown;
  std::string ask_who;
  std::chrono::seconds ask_within{};
};

// A compiled policy: immutable and pure. The same question gets the same answer; it reads no clock, no
// network, no globals, and may be evaluated from any thread.
class Program {
 public:
  virtual ~Program() = default;
  // Judges `request.what`, and lowers numbers in it where a rule clamps them (`clamp: { timeout: 10m }`).
  virtual Judgement judge(Request& request, const Facts& settings) const = 0;
  virtual std::span<const Limit> limits() const = 0;
  virtual Sha256 digest() const = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace policy
