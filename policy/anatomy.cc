#include "policy/anatomy.h"
#include "policy/compile_secrets.h"
#include "policy/compile_waivers.h"
#include "policy/self_check.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace policy {
namespace {

// A test that fails leaves a policy that can be explained, and that `policy test` is asked about.
bool leaves_parts(const Diagnostic& found) {
  return found.severity != Severity::error || is_failed_test(found);
}

// What the compiler has accepted already; nothing is reported twice.
class Dissection {
 public:
  Dissection(const Facts& settings) : settings_(known_settings()) {
    for (const auto& [name, value] : settings) settings_.insert_or_assign(name, value);
  }

  std::unique_ptr<const Anatomy> run(std::span<const Source> sources, const Compiled& compiled) {
    for (const auto& source : sources) read(source);
    for (auto& [tier, part] : parts_.tiers) fill(part);
    RuleSet all;
    for (auto& [tier, part] : parts_.tiers) {
      auto own = set_of(part);
      all.tiers.insert(all.tiers.end(), own.tiers.begin(), own.tiers.end());
      all.rules.insert(all.rules.end(), own.rules.begin(), own.rules.end());
      all.vmrun.insert(all.vmrun.end(), own.vmrun.begin(), own.vmrun.end());
      all.limits.insert(all.limits.end(), own.limits.begin(), own.limits.end());
      for (const auto& [name, is] : part.scope.subjects) parts_.everyone.subjects.emplace(name, is);
      part.alone = std::make_unique<const RuleProgram>(std::move(own));
    }
    if (compiled.program) {
      all.name = compiled.program->name();
      all.digest = compiled.program->digest();
    }
    parts_.whole = std::make_unique<const RuleProgram>(std::move(all));
    return std::move(held_);
  }

 private:
  ReadInto into(const Anatomy::File& file) { return {file.name, &quiet_}; }

  void read(const Source& source) {
    auto root = yaml::read(source.text, source.name, quiet_);
    if (!root) return;
    const auto* tier = root->find("tier");
    const auto which = tier == nullptr ? std::nullopt : tier_from(tier->value.text);
    auto& file = parts_.files.emplace_back();
    file.name = source.name;
    file.root = std::move(*root);
    file.tier = which.value_or(source.tier.value_or(Tier::user));
    auto& part = parts_.tiers[file.tier];
    part.files.push_back(&file);
    part.scope.tier = file.tier;
    const auto* name = file.root.find("name");
    if (name != nullptr) part.scope.name = name->value.text;
    if (part.scope.name.empty()) part.scope.name = spelling(file.tier);
    const auto* stance = file.root.find("default");
    part.scope.inherit = stance != nullptr && stance->value.text == "inherit";
  }

  void fill(Anatomy::Part& part) {
    for (const auto* file : part.files) compile_names(file->root, into(*file), part.scope);
    for (const auto* file : part.files) compile_secrets(file->root, into(*file), part.scope);
    Places places;
    for (const auto* file : part.files) {
      auto parsed = compile_sections(file->root, part.scope, settings_, places, into(*file));
      for (auto& rule : parsed.rules) part.rules.push_back({file, std::move(rule)});
      std::move(parsed.refusals.begin(), parsed.refusals.end(), std::back_inserter(part.refusals));
      std::move(parsed.limits.begin(), parsed.limits.end(), std::back_inserter(part.limits));
    }
    std::sort(part.rules.begin(), part.rules.end(), [](const auto& a, const auto& b) {
      return std::tie(a.file->name, a.parsed.at) < std::tie(b.file->name, b.parsed.at);
    });
    std::vector<Rule*> own;
    for (auto& placed : part.rules) own.push_back(&placed.parsed.rule);
    for (const auto* file : part.files) compile_waivers(file->root, part.scope, places, own, {}, into(*file));
  }

  static RuleSet set_of(const Anatomy::Part& part) {
    RuleSet set;
    set.tiers.push_back({part.scope.tier, part.scope.name, part.scope.inherit});
    for (const auto& placed : part.rules) set.rules.push_back(placed.parsed.rule);
    for (const auto& parsed : part.refusals) set.vmrun.push_back(parsed.refusal);
    set.limits = part.limits;
    set.name = part.scope.name;
    return set;
  }

  Facts settings_;
  Diagnostics quiet_;
  std::unique_ptr<Anatomy> held_ = std::make_unique<Anatomy>();
  Anatomy& parts_ = *held_;
};

}  // namespace

const Anatomy::PlacedRule* Anatomy::rule(const RuleRef& ref) const {
  const auto tier = tier_from(ref.tier);
  const auto part = tier ? tiers.find(*tier) : tiers.end();
  if (part == tiers.end()) return nullptr;
  for (const auto& placed : part->second.rules) {
    if (placed.parsed.rule.ref.id == ref.id) return &placed;
  }
  return nullptr;
}

Json to_json(const RuleRef& rule) {
  return Json(Json::Object{{"rule", rule.id}, {"tier", rule.tier}, {"src", rule.where}});
}

Studied study(std::span<const Source> sources, const Facts& settings) {
  Studied studied;
  studied.compiled = compile(sources, settings);
  const auto& found = studied.compiled.diagnostics;
  if (std::all_of(found.begin(), found.end(), leaves_parts)) {
    studied.anatomy = Dissection(settings).run(sources, studied.compiled);
  }
  return studied;
}

}  // namespace policy
