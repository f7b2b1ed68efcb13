#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/anatomy.h"
#include "policy/json.h"
#include "policy/stated_question.h"

// Why a question gets its answer: for `policy explain`, from the same rules that decide calls.
namespace policy {

// What one tier says by itself.
struct TierSays {
  Tier tier = Tier::user;
  std::string name;
  enum class How { rule, silence, no_opinion } how = How::rule;
  Effect effect = Effect::deny;  // unless it has no opinion
  RuleRef rule;
};

struct RuleSays {
  RuleRef rule;
  Effect effect = Effect::deny;
};

// A rule about the action that did not match.
struct NearRule {
  RuleRef rule;
  Effect effect = Effect::deny;
  std::string unmet;        // the first condition that failed: `network`
  std::string asked;        // what it asks there, as it is written; may be empty
  std::string was;          // what the question said; may be empty
  std::size_t further = 0;  // conditions that failed beside it
};

// One half of a question; most have one.
struct Explained {
  std::string action;
  std::string sight;  // of a tunnel: `looked into` or `passed through`
  Judgement judgement;
  std::vector<TierSays> tiers;
  std::vector<RuleSays> matched;
  std::vector<NearRule> near;        // at most three, the nearest first
  std::vector<WaiverTerms> waivers;  // that lifted a rule
  Clamp clamp;
};

std::vector<Explained> explain(const Anatomy&, const StatedQuestion&);

// The answer to the whole question: the first half that is refused, else the first that is asked, else the
// last.
const Explained& deciding(const std::vector<Explained>&);

Json to_json(const std::vector<Explained>&);
std::string to_text(const std::vector<Explained>&);

}  // namespace policy
