#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/compile_scope.h"
#include "policy/rule_program.h"

namespace policy {

// A rule with the example part of its text, which is run when all rules are there.
struct ParsedRule {
  Rule rule;
  Position at;
  // Of the file's tree: the rule as it is written, and its examples.
  const yaml::Entry* entry = nullptr;
  const yaml::Node* examples = nullptr;
  std::optional<ShadowSince> shadow_since = {};
};

struct ParsedRefusal {
  VmrunRefusal refusal;
  Position at;
  std::string_view file;
};

// Ids of rules, limits and vmrun refusals already used in a tier, with their places.
using Places = std::map<std::string, std::string, std::less<>>;

// Claims the id of an entry, which means one thing in a tier. Reports one that is used already.
bool claim(const yaml::Entry&, Places&, const ReadInto&);
// How refusals and the log name what an entry describes.
RuleRef reference(const yaml::Entry&, const Scope&, const ReadInto&);

// The sections `actions:`, `input:`, `web:`, `vmrun:` and `limits:` of one file, as far as it has them.
struct ParsedSections {
  std::vector<ParsedRule> rules;
  std::vector<ParsedRefusal> refusals;
  std::vector<Limit> limits;
};
ParsedSections compile_sections(const yaml::Node& file, const Scope&, const Facts& settings, Places&,
                                const ReadInto&);

}  // namespace policy
