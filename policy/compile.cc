#include "policy/compile.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "policy/builtin.h"
#include "policy/compile_rules.h"
#include "policy/compile_secrets.h"
#include "policy/compile_waivers.h"
#include "policy/loose_ends.h"
#include "policy/self_check.h"
#include "policy/wording.h"

namespace policy {
namespace {

constexpr std::string_view kLanguage = "policy/v1";
constexpr std::array<std::string_view, 5> kTierNames{"builtin", "org", "user", "project", "session"};
constexpr std::array<std::string_view, 15> kSections{
    "sallyport", "tier", "name",  "serial", "default", "sets",    "subjects", "actions",
    "input",     "web",  "vmrun", "limits", "tests",   "waivers", "secrets"};

// One file that could be read, and what its header says.
struct File {
  std::string_view name;
  yaml::Node root;
  Tier tier = Tier::user;
  std::optional<std::int64_t> serial = {};
};

// The files of one tier and what they share.
struct TierFiles {
  Scope scope;
  bool named = false;
  std::optional<std::int64_t> serial;
  std::vector<const File*> files;
  Places places;
  std::vector<std::pair<const File*, ParsedRule>> rules;
  TierUse use;
};

// The digest of what was compiled, whatever the order and the names of the files.
Sha256 digest_of(std::span<const Source> sources) {
  std::vector<std::string> digests;
  for (const auto& source : sources) digests.push_back(sha256(source.text).hex());
  std::sort(digests.begin(), digests.end());
  Sha256Stream stream;
  stream.update("sallyport " + std::string(kLanguage) + " " + std::string(kBuiltinRules));
  for (const auto& digest : digests) stream.update("\n" + digest);
  return stream.finish();
}

class Compilation {
 public:
  explicit Compilation(const Facts& settings) : settings_(known_settings()) {
    for (const auto& [name, value] : settings) settings_.insert_or_assign(name, value);
  }

  Compiled run(std::span<const Source> sources) {
    if (sources.empty()) found_.error("P0160", "policy", {1, 1}, "there is no policy file");
    for (const auto& source : sources) read(source);
    for (const auto& file : files_) open(file);
    for (auto& [tier, files] : tiers_) names(files);
    for (auto& [tier, files] : tiers_) rules(files);
    for (auto& [tier, files] : tiers_) waivers(files);
    check_vmrun();
    set_.name = joined_name();
    // A test asks the rules; with some of them missing its answer would mean nothing.
    if (!found_.has_errors()) self_check();
    Compiled compiled;
    if (!found_.has_errors()) {
      set_.digest = digest_of(sources);
      for (const auto& [which, tier] : tiers_) {
        compiled.serials.push_back({which, tier.scope.name, tier.serial});
      }
      // What was read is several times the size of what comes out of it.
      tiers_.clear();
      files_.clear();
      compiled.program = std::make_shared<const RuleProgram>(std::move(set_));
    }
    compiled.waivers = std::move(waivers_);
    compiled.shadows = std::move(shadows_);
    compiled.diagnostics = found_.take();
    compiled.loose_ends = loose_ends_.take();
    return compiled;
  }

 private:
  ReadInto into(const File& file) { return {file.name, &found_}; }

  void read(const Source& source) {
    auto root = yaml::read(source.text, source.name, found_);
    if (!root) return;
    File file{source.name, std::move(*root), source.tier.value_or(Tier::user)};
    if (header(source, file)) files_.push_back(std::move(file));
  }

  // What the file says of itself. False when it is not to be compiled at all.
  bool header(const Source& source, File& file) {
    const auto report = into(file);
    const Mapping mapping(file.root, "policy", kSections, report);
    if (file.root.kind != yaml::Node::Kind::map) return false;
    const auto* language = mapping.require("sallyport");
    if (language == nullptr) return false;
    if (const auto text = mapping.text("sallyport"); text && *text != kLanguage) {
      report.error("P0101", language->value.at,
                   "this program reads " + quoted(kLanguage) + ", not " + quoted(*text));
      return false;
    }
    file.serial = mapping.integer("serial", 0, std::numeric_limits<std::int64_t>::max());
    if (const auto* tier = mapping.require("tier"); tier != nullptr) {
      const auto at = mapping.choice("tier", std::span(kTierNames).subspan(1));
      if (at) file.tier = *tier_from(kTierNames[*at + 1]);
      if (at && source.tier && *source.tier != file.tier) {
        report.error("P0102", tier->value.at,
                     "the file says tier " + quoted(spelling(file.tier)) +
                         " but was found among the files of " + quoted(spelling(*source.tier)));
      }
    }
    return true;
  }

  void open(const File& file) {
    auto& tier = tiers_[file.tier];
    tier.files.push_back(&file);
    tier.scope.tier = file.tier;
    tier.scope.used = &tier.use.names;
    tier.scope.expressions = &expressions_;
    if (file.serial) tier.serial = std::max(tier.serial.value_or(0), *file.serial);
    const Mapping mapping(file.root, "policy", kSections, {file.name, &quiet_});
    const auto report = into(file);
    if (const auto* name = mapping.find("name")) {
      const auto text = read_text(name->value, "`name`", report);
      if (text && tier.named && *text != tier.scope.name) {
        report.error("P0104", name->value.at,
                     "the files of tier " + quoted(spelling(file.tier)) + " call it both " +
                         quoted(tier.scope.name) + " and " + quoted(*text) + "; give them one `name`");
      }
      if (text) {
        tier.scope.name = *text;
        tier.named = true;
      }
    }
    stance(file, tier, report);
  }

  void stance(const File& file, TierFiles& tier, const ReadInto& report) {
    static constexpr std::array<std::string_view, 2> kDefaults{"deny", "inherit"};
    const auto* entry = file.root.find("default");
    if (entry == nullptr) {
      report.error("P0108", file.root.at,
                   "policy needs the key `default`; `default: deny` refuses what no rule allows");
      return;
    }
    const auto at = read_choice(entry->value, kDefaults, "`default`", report);
    if (!at) return;
    const bool inherit = *at == 1;
    if (inherit && file.tier < Tier::project) {
      report.error("P0103", entry->value.at,
                   "tier " + quoted(spelling(file.tier)) +
                       " must have `default: deny`; only project and session inherit");
      return;
    }
    if (tier.files.size() > 1 && inherit != tier.scope.inherit) {
      report.error("P0103", entry->value.at, "the files of a tier must agree on `default`");
    }
    tier.scope.inherit = inherit;
  }

  void names(TierFiles& tier) {
    if (!tier.named) tier.scope.name = spelling(tier.scope.tier);
    for (const auto* file : tier.files) compile_names(file->root, into(*file), tier.scope);
    for (const auto* file : tier.files) compile_secrets(file->root, into(*file), tier.scope);
    set_.tiers.push_back({tier.scope.tier, tier.scope.name, tier.scope.inherit});
    for (const auto& [name, subject] : tier.scope.subjects) {
      set_.people.emplace(people_named(tier.scope.tier, name), subject);
    }
  }

  void rules(TierFiles& tier) {
    for (const auto* file : tier.files) {
      auto parsed = compile_sections(file->root, tier.scope, settings_, tier.places, into(*file));
      for (auto& rule : parsed.rules) {
        if (rule.shadow_since) shadows_.push_back(*rule.shadow_since);
        tier.rules.emplace_back(file, std::move(rule));
      }
      for (auto& refusal : parsed.refusals) {
        set_.vmrun.push_back(refusal.refusal);
        refusals_.push_back(std::move(refusal));
      }
      std::move(parsed.limits.begin(), parsed.limits.end(), std::back_inserter(set_.limits));
    }
    std::sort(set_.limits.begin(), set_.limits.end(), [](const Limit& a, const Limit& b) {
      return std::tie(a.rule.tier, a.rule.id) < std::tie(b.rule.tier, b.rule.id);
    });
  }

  void waivers(TierFiles& tier) {
    std::vector<Rule*> own;
    std::vector<const Rule*> others;
    for (auto& [which, files] : tiers_) {
      for (auto& [file, parsed] : files.rules) {
        if (&files == &tier) {
          own.push_back(&parsed.rule);
        } else {
          others.push_back(&parsed.rule);
        }
      }
    }
    for (const auto* file : tier.files) {
      compile_waivers(file->root, tier.scope, tier.places, own, others, into(*file));
    }
    for (const auto* rule : own) {
      for (const auto& waiver : rule->waivers) waivers_.push_back(waiver.terms);
    }
  }

  // An action that is allowed while a command it takes is refused would fail half way.
  void check_vmrun() {
    for (const auto& parsed : refusals_) {
      for (const auto verb : parsed.refusal.verbs) {
        if (const auto* rule = rule_that_takes(verb)) {
          found_.error("P0131", parsed.file, parsed.at,
                       quoted(spelling(verb)) + " is refused, but rule " + quoted(rule->ref.id) + " (" +
                           rule->ref.where + ") allows what takes it");
        }
      }
    }
  }

  const Rule* rule_that_takes(VmrunVerb verb) const {
    const auto takes = [verb](const Rule& rule) {
      return std::any_of(action_words().begin(), action_words().end(), [&](const ActionWord& word) {
        const auto verbs = vmrun_needed_by(word.name);
        return (word.actions & rule.actions).any() &&
               std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
      });
    };
    for (const auto& [which, tier] : tiers_) {
      for (const auto& [file, parsed] : tier.rules) {
        const bool lets = parsed.rule.effect != Effect::deny && !parsed.rule.shadow;
        if (lets && takes(parsed.rule)) return &parsed.rule;
      }
    }
    return nullptr;
  }

  // A file is tested with the rules of its own tier alone, so that it passes or fails whatever other tiers
  // there are. Rules pass on to the whole set from here; there is one of each at any time.
  void self_check() {
    for (auto& [which, tier] : tiers_) {
      RuleSet own;
      own.tiers.push_back({which, tier.scope.name, tier.scope.inherit});
      own.rules.reserve(tier.rules.size());
      for (auto& [file, parsed] : tier.rules) {
        spoke(run_examples(parsed, tier.scope, into(*file)), tier.use);
        own.rules.push_back(std::move(parsed.rule));
      }
      tier.rules = {};
      for (const auto& parsed : refusals_) {
        if (parsed.refusal.tier == which) own.vmrun.push_back(parsed.refusal);
      }
      RuleProgram program(std::move(own));
      for (const auto* file : tier.files) {
        if (const auto* section = file->root.find("tests")) {
          const auto checks = run_tests(section->value, tier.scope, program, into(*file));
          tier.use.tested = tier.use.tested || !checks.empty();
          spoke(checks, tier.use);
        }
      }
      for (const auto* file : tier.files) {
        find_loose_ends(file->root, tier.use, {file->name, &loose_ends_});
      }
      auto tested = std::move(program).take_rules();
      if (set_.rules.empty()) {
        set_.rules = std::move(tested);
      } else {
        set_.rules.insert(set_.rules.end(), std::make_move_iterator(tested.begin()),
                          std::make_move_iterator(tested.end()));
      }
    }
  }

  static void spoke(const std::vector<Checked>& checks, TierUse& use) {
    for (const auto& checked : checks) {
      for (const auto& rule : checked.spoke) use.spoke.insert(rule.id);
    }
  }

  std::string joined_name() const {
    std::string name;
    for (const auto& [tier, files] : tiers_) name += (name.empty() ? "" : "+") + files.scope.name;
    return name;
  }

  Facts settings_;
  Diagnostics found_;
  Diagnostics loose_ends_;
  Diagnostics quiet_;       // for what has been reported once already
  std::deque<File> files_;  // stay where they are
  std::map<Tier, TierFiles> tiers_;
  RegexBudget expressions_;
  std::vector<ParsedRefusal> refusals_;
  std::vector<WaiverTerms> waivers_;
  std::vector<ShadowSince> shadows_;
  RuleSet set_;
};

}  // namespace

std::string_view spelling(Tier tier) { return kTierNames[static_cast<std::size_t>(tier)]; }

std::optional<Tier> tier_from(std::string_view text) {
  const auto at = std::find(kTierNames.begin(), kTierNames.end(), text);
  if (at == kTierNames.end()) return std::nullopt;
  return static_cast<Tier>(at - kTierNames.begin());
}

Error Compiled::error() const {
  std::size_t errors = 0;
  const Diagnostic* first = nullptr;
  for (const auto& found : diagnostics) {
    if (found.severity != Severity::error) continue;
    if (first == nullptr) first = &found;
    ++errors;
  }
  if (first == nullptr) return {"config.policy", "no policy could be loaded"};
  auto message = "the policy cannot be used: " + first->format();
  if (errors > 1) message += " (and " + std::to_string(errors - 1) + " more)";
  return {"config.policy", std::move(message), first->where()};
}

Compiled compile(std::span<const Source> sources, const Facts& settings) {
  return Compilation(settings).run(sources);
}

const Facts& known_settings() {
  static const Facts facts{
      {"remote_input", false},
      {"web", false},
      {"web_ports", std::string("80,443")},
      {"max_sandboxes", std::int64_t{3}},
      {"max_age", std::int64_t{7200}},
  };
  return facts;
}

void check_days(Compiled& compiled, std::chrono::sys_days today) {
  auto found = waiver_findings(compiled.waivers, today);
  join(found, shadow_findings(compiled.shadows, today));
  if (found.empty()) return;
  const bool ended = std::any_of(found.begin(), found.end(),
                                 [](const Diagnostic& one) { return one.severity == Severity::error; });
  if (ended) compiled.program.reset();
  join(compiled.diagnostics, std::move(found));
}

Compiled load_default(const Facts& settings) {
  const std::array<Source, 1> sources{Source{"default.yaml", std::string(default_policy_text()), Tier::user}};
  return compile(sources, settings);
}

}  // namespace policy
