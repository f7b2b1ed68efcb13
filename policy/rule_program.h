#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/rule.h"
#include "policy/rule_index.h"

namespace policy {

// What a file says in `vmrun:`; there it can only refuse.
struct VmrunRefusal {
  RuleRef ref;
  Tier tier = Tier::user;
  std::vector<VmrunVerb> verbs;
  std::string why;
  std::string hint;
};

// One tier that has files. `inherit`: where no rule of it speaks, it has no opinion.
struct TierStance {
  Tier tier = Tier::user;
  std::string name;
  bool inherit = false;
};

// The parts a compiler hands over. Rules and refusals may come in any order.
struct RuleSet {
  std::vector<TierStance> tiers;
  std::vector<Rule> rules;  // shadow rules among them
  std::vector<VmrunRefusal> vmrun;
  std::vector<Limit> limits;
  // Whom `who:` of ask rules names, as `<tier>:<name>`.
  std::map<std::string, SubjectIs, std::less<>> people;
  std::string name;
  Sha256 digest;
};

// What the rules say, before it is put into words. Points into the program.
struct Ruling {
  Effect effect = Effect::deny;
  const Rule* rule = nullptr;          // that decides; null: nothing allows it
  const TierStance* silent = nullptr;  // the highest tier of which no rule speaks, when that refuses
  Clamp clamp;
};

// Rules as a set: deny over ask over allow within a tier, the most restrictive tier wins, and what no rule
// allows is refused. The order of rules and files has no influence on anything, the rule named included.
// What a question costs depends on how many rules may speak on it, not on how many there are.
class RuleProgram final : public Program {
 public:
  explicit RuleProgram(RuleSet);
  RuleProgram(const RuleProgram&) = delete;
  RuleProgram& operator=(const RuleProgram&) = delete;

  Judgement judge(Request& request, const Facts& settings) const override;
  bool may_be_allowed(const Subject& who, std::size_t action) const override;
  bool is_one_of(const Subject& who, std::string_view people) const override;
  std::span<const Limit> limits() const override { return set_.limits; }
  Sha256 digest() const override { return set_.digest; }
  const std::string& name() const override { return set_.name; }
  std::vector<WaiverTerms> waivers() const override;
  std::vector<ShadowRule> shadow_rules() const override;

  // The same on a question with facts withheld; changes nothing in the request.
  Judgement judge(const Question&, Clamp& clamp) const;

  // Buffers of an evaluation, and what it found on the way. Kept from one to the next, they make it allocate
  // nothing.
  struct Scratch {
    RuleIndex::Search search;
    std::vector<const Rule*> matched;   // every rule that speaks, in the order of tiers and ids
    std::vector<const Rule*> waiting;   // those that may ask once more is known
    std::vector<const Waiver*> waived;  // those but for which further ones would have spoken
    Gaps gaps;
  };
  // What the rules of `actions:` say, and nothing beside them: neither what is built in nor `vmrun:`.
  Ruling rule_on(const Question&, Scratch&) const;

  // Those that are enforced.
  std::span<const Rule> rules() const { return set_.rules; }
  // Ends the program; its rules, those in shadow too, can go on into another one.
  std::vector<Rule> take_rules() &&;

 private:
  // The rules about one action.
  struct Chapter {
    RuleIndex index;
    std::array<const Rule*, kTierCount> first_allow{};  // of each tier
  };

  const Chapter& chapter(const Question& question) const {
    return chapters_[chapter_of_[question.request.what.index()]];
  }
  Judgement judge_by_rules(const Question&, Clamp& clamp, Scratch&, Ruling&) const;
  Judgement judge_vmrun(const Vmrun&) const;
  // What each shadow rule would have made of it by itself.
  std::vector<ShadowRuling> judge_shadows(const Question&, const Scratch&, const Ruling&,
                                          const Judgement&) const;
  void explain_default(const Question&, const TierStance*, const Scratch&, Judgement&) const;
  // The allow rule of a tier that asks least that does not hold, of those that were asked; else its first.
  const Rule* nearest_allow(const Question&, Tier, const Scratch&) const;

  RuleSet set_;                    // rules sorted by tier and id
  std::vector<Rule> shadows_;      // likewise
  std::vector<Chapter> chapters_;  // actions with the same rules share one
  std::array<std::size_t, std::variant_size_v<Action>> chapter_of_{};
};

}  // namespace policy
