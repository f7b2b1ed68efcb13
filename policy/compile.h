#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"
#include "policy/program.h"
#include "policy/request.h"
#include "policy/shadow.h"
#include "policy/tier.h"

namespace policy {

// The text of one policy file. The caller reads files; the compiler sees text only. Several sources of one
// tier are one set of rules.
struct Source {
  std::string name;  // shown in messages and in rule references
  std::string text;
  std::optional<Tier> tier = {};  // where it was found; when set, the file must say the same
};

// How new the files of a tier say they are; the highest when several say it.
struct Serial {
  Tier tier = Tier::user;
  std::string name;  // the tier's
  std::optional<std::int64_t> number;
};

struct Compiled {
  std::shared_ptr<const Program> program;  // null when anything in `diagnostics` is an error
  std::vector<Serial> serials;             // of all tiers
  std::vector<WaiverTerms> waivers;        // likewise
  std::vector<ShadowSince> shadows;        // likewise
  std::vector<Diagnostic> diagnostics;     // of all sources, sorted by file and position
  std::vector<Diagnostic> loose_ends;      // warnings for those who check a policy, not among the above

  // What to refuse calls with when `program` is null: code `config.policy`, the first error in full and how
  // many more there are.
  Error error() const;
};

// Compiles the sources into one program and runs the `tests:` and `examples:` in them; a failing one is an
// error like any other. `settings` overlays known_settings(): limits that name a setting take their number
// from it. Tests see only the settings they state, over the known defaults.
Compiled compile(std::span<const Source> sources, const Facts& settings = {});

// For those who check a policy on a day: waivers that have ended are errors, and leave no program; rules that
// have long been in shadow are warnings. A gateway does not do this: there waivers lift nothing any more, and
// everything else holds.
void check_days(Compiled&, std::chrono::sys_days today);

// Every setting a policy may read, with the value it has when nobody sets it.
const Facts& known_settings();

// The policy in force when nothing is configured: the text of policies/default.yaml, kept in the program.
std::string_view default_policy_text();
Compiled load_default(const Facts& settings = {});

}  // namespace policy
