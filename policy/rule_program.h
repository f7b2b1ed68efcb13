#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/rule.h"

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
  std::vector<Rule> rules;
  std::vector<VmrunRefusal> vmrun;
  std::vector<Limit> limits;
  // Whom `who:` of ask rules names, as `<tier>:<name>`.
  std::map<std::string, SubjectIs, std::less<>> people;
  std::string name;
  Sha256 digest;
};

// Rules as a set: deny over ask over allow within a tier, the most restrictive tier wins, and what no rule
// allows is refused. The order of rules and files has no influence on anything, the rule named included.
class RuleProgram final : public Program {
 public:
  explicit RuleProgram(RuleSet);

  Judgement judge(Request& request, const Facts& settings) const override;
  bool may_be_allowed(const Subject& who, std::size_t action) const override;
  bool is_one_of(const Subject& who, std::string_view people) const override;
  std::span<const Limit> limits() const override { return set_.limits; }
  Sha256 digest() const override { return set_.digest; }
  const std::string& name() const override { return set_.name; }

  // The same on a question with facts withheld; changes nothing in the request.
  Judgement judge(const Question&, Clamp& clamp) const;

  std::span<const Rule> rules() const { return set_.rules; }

 private:
  Judgement judge_vmrun(const Vmrun&) const;
  void explain_default(const Question&, const TierStance*, Judgement&) const;

  RuleSet set_;  // rules sorted by tier and id
  // Indexes into the rules, by the alternative of Action they are about.
  std::array<std::vector<std::uint32_t>, std::variant_size_v<Action>> by_action_;
};

}  // namespace policy
