#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/limit.h"
#include "policy/request.h"
#include "policy/shadow.h"
#include "policy/waiver.h"

namespace policy {

// Whom an ask rule may name beside subjects. The user shows that he is one by becoming root; asked in the
// client, whatever the client answers counts as his.
inline constexpr std::string_view kPeopleUser = "user";
inline constexpr std::string_view kPeopleInClient = "client";

// What the rules say about one question, before any enforcer.
struct Judgement {
  Effect effect = Effect::deny;
  std::string code;
  RuleRef rule;
  std::string reason;
  std::string hint;
  std::vector<RuleRef> matched;
  std::vector<std::string> unknown;
  // `user`, `client` and `<tier>:<subject>`, joined by `+`: who answers must be all of them.
  std::string ask_who;
  std::chrono::seconds ask_within{};
  std::vector<RuleRef> waivers;                // that lifted a rule which would have spoken
  std::vector<ShadowRuling> shadow;            // shadow rules that spoke; they change nothing above
  std::optional<ShadowVerdict> shadow_policy;  // ShadowWatch's, never a program's
  bool waits = false;                          // allowed so far, for a rule that may ask once more is known
  Labels labels;                               // that the sandbox gets before anything is done
  std::vector<Injection> injections;           // one for a header field at most
};

// A compiled policy: immutable and pure. The same question gets the same answer; it reads no clock, no
// network, no globals, and may be evaluated from any thread.
class Program {
 public:
  virtual ~Program() = default;
  // Judges `request.what`, and lowers numbers in it where a rule clamps them (`clamp: { timeout: 10m }`).
  virtual Judgement judge(Request& request, const Facts& settings) const = 0;
  // Whether there is any call of this action, whatever its arguments and its sandbox, that is not refused for
  // `who`. `action` is the alternative of Action. A call that judge() lets through is never denied here.
  // Settings count as unknown: what one switches off is refused with a text that says so.
  virtual bool may_be_allowed(const Subject& who, std::size_t action) const = 0;
  // Whether `who` is one of those that an ask rule's `who` means; `people` is Judgement::ask_who. Nobody is
  // one of people that no policy describes.
  virtual bool is_one_of(const Subject& who, std::string_view people) const = 0;
  virtual std::span<const Limit> limits() const = 0;
  virtual std::vector<WaiverTerms> waivers() const { return {}; }
  // Its shadow rules, each of which judge() answers for in Judgement::shadow when it speaks.
  virtual std::vector<ShadowRule> shadow_rules() const { return {}; }
  virtual Sha256 digest() const = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace policy
