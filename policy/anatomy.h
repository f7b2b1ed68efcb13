#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policy/compile.h"
#include "policy/compile_rules.h"

namespace policy {

// The parts a program was made of, for those who explain, test and compare policies. What decides calls never
// needs them. Nodes point into the files, so it neither moves nor is copied.
struct Anatomy {
  struct File {
    std::string name;
    yaml::Node root;
    Tier tier = Tier::user;
  };
  struct PlacedRule {
    const File* file = nullptr;
    ParsedRule parsed;
  };
  struct Part {
    Scope scope;
    std::vector<const File*> files;
    std::vector<PlacedRule> rules;
    std::vector<ParsedRefusal> refusals;
    std::vector<Limit> limits;
    std::unique_ptr<const RuleProgram> alone;  // this tier by itself
  };

  Anatomy() = default;
  Anatomy(const Anatomy&) = delete;
  Anatomy& operator=(const Anatomy&) = delete;

  std::deque<File> files;
  std::map<Tier, Part> tiers;
  std::unique_ptr<const RuleProgram> whole;
  // The subjects of all tiers, where two share a name those of the higher one; for questions from outside.
  Scope everyone;

  // Null when no file has a rule of this id in this tier.
  const PlacedRule* rule(const RuleRef&) const;
};

// A rule as reports in JSON name it: `rule`, `tier`, `src`.
Json to_json(const RuleRef&);

struct Studied {
  // Null when anything but a failing test or example is an error.
  std::unique_ptr<const Anatomy> anatomy;
  Compiled compiled;
};

// Compiles the sources and keeps their parts.
Studied study(std::span<const Source> sources, const Facts& settings = {});

}  // namespace policy
