#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/compile.h"
#include "policy/condition.h"
#include "policy/secret.h"
#include "policy/waiver.h"

namespace policy {

// Upper bounds that an allowed request is lowered to.
struct Clamp {
  std::optional<std::chrono::seconds> timeout;
  std::optional<std::chrono::seconds> by;
};

// Lifts a deny or ask rule of its own tier where it certainly holds, until its day is over.
struct Waiver {
  WaiverTerms terms;
  Condition when;
};

struct Rule {
  RuleRef ref;
  Tier tier = Tier::user;
  Effect effect = Effect::deny;
  ActionSet actions;
  Condition when;                   // everything the rule asks, joined
  std::optional<Condition> unless;  // lifts the rule when it certainly holds
  std::string why;
  std::string hint;
  std::string ask_who;
  std::chrono::seconds ask_within{};
  Clamp clamp;
  std::vector<Waiver> waivers;
  bool shadow = false;              // judged, and never enforced
  std::vector<std::string> labels;  // put on the sandbox when what the rule speaks on is let through
  std::vector<std::shared_ptr<const Secret>> injects;  // of its own tier
};

// Whether the rule speaks: an unknown answer makes a deny or ask rule match, and an allow rule not. A rule
// that would not speak whatever the missing facts were leaves no gaps. `lifted_by` gets the waiver but for
// which it would speak.
bool matches(const Rule&, const Question&, Gaps&, const Waiver** lifted_by = nullptr);

// Whether an allow rule or one that asks speaks whatever the facts turn out to be that are known later.
bool speaks_for_certain(const Rule&, const Question&);

// Whether a rule that asks certainly may speak, and only what is known later keeps it from that now: then
// what comes first goes on, and a person is asked about the rest.
bool may_ask_later(const Rule&, const Question&);

// What kept an allow rule from matching, by name. The names live as long as the rule.
std::vector<std::string_view> unmet(const Rule&, const Question&);

}  // namespace policy
