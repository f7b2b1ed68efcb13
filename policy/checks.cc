#include "policy/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "policy/example_call.h"
#include "policy/region.h"
#include "policy/wording.h"

namespace policy {
namespace {

// What all checks of one policy together may take: steps in comparing what rules ask, and rules asked about
// examples. A policy of 10,000 rules that differ takes a small part of it.
constexpr std::size_t kSteps = 10'000'000;
constexpr std::size_t kRulesAsked = 500'000;
// Rules that are joined to cover one.
constexpr std::size_t kMaxJoined = 12;
// Rules that speak on one example and are looked at.
constexpr std::size_t kMaxHeard = 100;
// Rules of the tiers above that one rule is compared with.
constexpr std::size_t kMaxAbove = 400;

using Rules = std::vector<const Rule*>;

// `org.yaml:58:5` as it is written in a rule's reference.
std::pair<std::string, Position> place_of(const RuleRef& rule) {
  std::string_view file = rule.where;
  const auto take = [&] {
    int number = 1;
    const auto colon = file.rfind(':');
    if (colon == std::string_view::npos) return number;
    std::from_chars(file.data() + colon + 1, file.data() + file.size(), number);
    file = file.substr(0, colon);
    return number;
  };
  const int column = take();
  const int line = take();
  return {std::string(file), {line, column}};
}

// ``rule `a` (org.yaml:3:3)``, or several.
std::string named(const Rules& rules) {
  std::string text;
  for (const auto* rule : rules) {
    text += (text.empty() ? "rule " : " and ") + quoted(rule->ref.id) + " (" + rule->ref.where + ")";
  }
  return text;
}

// Whether a condition asks about nothing but commands.
bool only_commands(const Condition& condition) {
  const auto each = [](const std::vector<Condition>& parts) {
    return !parts.empty() && std::all_of(parts.begin(), parts.end(), only_commands);
  };
  if (const auto* all = std::get_if<AllOf>(&condition.is)) return each(all->parts);
  if (const auto* any = std::get_if<AnyOf>(&condition.is)) return each(any->parts);
  if (const auto* negation = std::get_if<NotThis>(&condition.is)) return each(negation->part);
  if (const auto* is = std::get_if<WordIs>(&condition.is)) return is->fact == Fact::command;
  const auto* like = std::get_if<TextLike>(&condition.is);
  return like != nullptr && like->fact == Fact::command;
}

// The axes that everything in a box rests on. What an allow rule allows has a known value on each.
bool rests_on(const Box& box, const Axis& axis) {
  return std::any_of(box.asked.begin(), box.asked.end(), [&](const Asked& one) {
    if (axis.of == Axis::Of::label) return one.axis.of == Axis::Of::label;
    return one.axis == axis;
  });
}

class Checks {
 public:
  explicit Checks(const RuleProgram& program) : program_(program), without_use_(program.rules().size()) {
    for (std::size_t i = 0; i < unseen_.size(); ++i) unseen_[i] = unseen_facts(i);
  }

  std::vector<Diagnostic> run() {
    const auto rules = program_.rules();
    regions_.reserve(rules.size());
    for (const auto& rule : rules) regions_.push_back(region_of(rule, {}, steps_));
    for (const auto& rule : rules) check_words(rule);
    // From the last to the first: of two rules that say the same the first is kept.
    for (auto i = rules.size(); i > 0; --i) {
      const auto& rule = rules[i - 1];
      without_use_[i - 1] =
          never_matches(rule) || is_overruled(rule) || is_shut_out(rule) || is_repeated(rule);
    }
    return found_.take();
  }

 private:
  enum class Covered { yes, no, undecided };

  std::size_t index_of(const Rule& rule) const {
    return static_cast<std::size_t>(&rule - program_.rules().data());
  }
  // What `rule` is about in one action. Made once.
  const Region& region(const Rule& rule, std::size_t action) {
    const auto index = index_of(rule);
    if (unseen_[action].later.none() && unseen_[action].hidden.none()) return regions_[index];
    auto& kept = regions_of_[action];
    if (kept.empty()) kept.resize(regions_.size());
    if (!kept[index]) kept[index] = region_of(rule, unseen_[action], steps_);
    return *kept[index];
  }

  void warn(std::string code, const Rule& rule, std::string message) {
    auto [file, at] = place_of(rule.ref);
    found_.warning(std::move(code), file, at, "rule " + quoted(rule.ref.id) + " " + std::move(message));
  }

  void check_words(const Rule& rule) {
    static const auto any = action_word("any")->actions;
    if (rule.effect == Effect::allow && rule.actions == any) {
      warn("P0304", rule, "allows `any`, and with it actions that do not exist yet; name those it is about");
    }
    if (rule.effect == Effect::deny && rule.why.empty() && rule.hint.empty() && only_commands(rule.when)) {
      warn("P0306", rule,
           "refuses by the text of a command alone, which has other ways to say the same and is no boundary; "
           "say in `why` or `hint` what to do instead");
    }
  }

  bool never_matches(const Rule& rule) {
    std::vector<std::string> axes;
    for (std::size_t action = 0; action < unseen_.size(); ++action) {
      if (!rule.actions.test(action)) continue;
      const auto& here = region(rule, action);
      if (here.given_up || here.waits || !here.boxes.empty()) return false;
      for (const auto& axis : here.emptied) {
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
      }
    }
    std::string message = rule.effect == Effect::allow ? "can never match: " : "matches no call: ";
    if (is_excepted(rule)) {
      message += "its `unless` holds whenever the rest does";
    } else if (axes.empty()) {
      message += "what it asks is not known for its actions";
    } else {
      std::string names;
      for (const auto& axis : axes) names += (names.empty() ? "" : ", ") + quoted(axis);
      message += "no value of " + names + " meets all that it asks";
    }
    if (rule.effect != Effect::allow) message += "; it speaks only where that is not known";
    warn("P0301", rule, std::move(message));
    return true;
  }

  // Whether a rule that never matches would but for its `unless`.
  bool is_excepted(const Rule& rule) {
    if (!rule.unless) return false;
    const auto alone = region_without_exception(rule, {}, steps_);
    return !alone.given_up && !alone.boxes.empty();
  }

  // The rules that speak on an example.
  std::optional<Rules> speakers(const ExampleCall& call) {
    if (rules_asked_ == 0) return std::nullopt;
    const auto ruling = program_.rule_on(call.question(), scratch_);
    silent_ = ruling.silent;
    rules_asked_ -= std::min(rules_asked_, scratch_.search.found.size() + 1);
    return scratch_.matched;
  }

  // Whether every call of `rule` in one action is one that other rules speak on, of those that `counts` takes
  // together with one box of `rule`. Goes from one example that is not covered yet to the next, so that only
  // rules that speak on one are looked at. `by` gets those that cover it, `example` one call that is covered.
  template <class Counts>
  Covered cover(const Rule& rule, std::size_t action, Counts counts, Rules& by, std::string& example) {
    const auto& own = region(rule, action);
    if (own.given_up) return Covered::undecided;
    for (const auto& box : own.boxes) {
      std::vector<Box> held;
      held.reserve(kMaxJoined);
      std::vector<const Box*> others;
      while (true) {
        const auto rest = outside(box, others, steps_);
        if (rest.end == Meeting::End::undecided) return Covered::undecided;
        if (rest.end == Meeting::End::none) break;
        const auto call = ExampleCall::at(action, rest.point);
        if (!call || others.size() >= kMaxJoined) return Covered::undecided;
        const auto heard = speakers(*call);
        if (!heard) return Covered::undecided;
        auto [best, widest] = widest_around(*call, action, rule, box, *heard, counts);
        if (best == nullptr) return Covered::no;
        held.push_back(std::move(widest));
        others.push_back(&held.back());
        if (std::find(by.begin(), by.end(), best) == by.end()) by.push_back(best);
        if (example.empty() && !box.vague) example = ", for example " + spell_call(action, rest.point);
      }
    }
    return Covered::yes;
  }

  // Of the rules heard on a call, one with a box around it that asks as little as any. Null: there is none.
  template <class Counts>
  std::pair<const Rule*, Box> widest_around(const ExampleCall& call, std::size_t action, const Rule& rule,
                                            const Box& box, const Rules& heard, Counts counts) {
    std::pair<const Rule*, Box> widest{};
    std::size_t looked_at = 0;
    for (const auto* other : heard) {
      if (other == &rule || !counts(*other)) continue;
      if (++looked_at > kMaxHeard) break;
      const auto& theirs = region(*other, action);
      for (const auto& candidate : theirs.boxes) {
        if (widest.first != nullptr && widest.second.asked.size() <= candidate.asked.size()) continue;
        if (contains(candidate, call.question()) && may_cover(rule, box, *other, candidate))
          widest = {other, candidate};
      }
    }
    return widest;
  }

  // Where a fact is not known an allow rule that asks about it does not match. So it covers only what rests
  // on the same facts.
  static bool may_cover(const Rule& rule, const Box& box, const Rule& other, const Box& theirs) {
    return rule.effect != Effect::allow || other.effect != Effect::allow ||
           std::all_of(theirs.asked.begin(), theirs.asked.end(),
                       [&](const Asked& one) { return rests_on(box, one.axis); });
  }

  // The same for all its actions.
  template <class Counts>
  bool covered(const Rule& rule, Counts counts, Rules& by, std::string& example) {
    bool any = false;
    for (std::size_t action = 0; action < unseen_.size(); ++action) {
      if (!rule.actions.test(action)) continue;
      if (!certain(rule, action) || region(rule, action).waits) return false;
      if (cover(rule, action, counts, by, example) != Covered::yes) return false;
      any = true;
    }
    return any && !by.empty();
  }
  // A rule that refuses or asks and has parts that ask for the impossible speaks where those are not known,
  // and there nothing follows from what is known.
  bool certain(const Rule& rule, std::size_t action) {
    return rule.effect == Effect::allow || region(rule, action).emptied.empty();
  }

  bool is_overruled(const Rule& rule) {
    if (rule.effect == Effect::deny) return false;
    const bool lowers = rule.clamp.timeout || rule.clamp.by || !rule.labels.empty() || !rule.injects.empty();
    Rules by;
    std::string example;
    const auto counts = [&](const Rule& other) {
      if (other.effect == Effect::deny) return other.tier <= rule.tier;
      return other.effect == Effect::ask && rule.effect == Effect::allow && other.tier == rule.tier &&
             !lowers;
    };
    if (!covered(rule, counts, by, example)) return false;
    const bool refused =
        std::all_of(by.begin(), by.end(), [](const Rule* one) { return one->effect == Effect::deny; });
    warn("P0302", rule,
         "never takes effect: all that it " +
             std::string(rule.effect == Effect::allow ? "allows" : "asks about") + " is " +
             (refused ? "refused" : "refused or asked about") + " by " + named(by) + example);
    return true;
  }

  bool is_repeated(const Rule& rule) {
    Rules by;
    std::string example;
    const auto counts = [&](const Rule& other) {
      return other.tier == rule.tier && other.effect == rule.effect && !without_use_[index_of(other)] &&
             same_consequences(rule, other);
    };
    if (!covered(rule, counts, by, example)) return false;
    warn("P0303", rule,
         "changes nothing: " + named(by) + (by.size() == 1 ? " says" : " say") +
             " the same of all that it is about" + example);
    return true;
  }
  // That `other` speaks makes up for it when `rule` does not.
  static bool same_consequences(const Rule& rule, const Rule& other) {
    const auto told = [](const std::string& mine, const std::string& theirs) {
      return mine.empty() || mine == theirs;
    };
    return told(rule.why, other.why) && told(rule.hint, other.hint) && rule.ask_who == other.ask_who &&
           rule.ask_within == other.ask_within && rule.clamp.timeout == other.clamp.timeout &&
           rule.clamp.by == other.clamp.by && rule.labels == other.labels && rule.injects == other.injects;
  }

  // Whether some tier above is silent on all that the rule allows.
  bool is_shut_out(const Rule& rule) {
    if (rule.effect != Effect::allow) return false;
    const TierStance* tier = nullptr;
    std::string example;
    for (std::size_t action = 0; action < unseen_.size(); ++action) {
      if (!rule.actions.test(action)) continue;
      const auto& own = region(rule, action);
      if (own.given_up || own.boxes.empty()) return false;
      const auto inside = outside(own.boxes.front(), {}, steps_);
      const auto call =
          inside.end == Meeting::End::some ? ExampleCall::at(action, inside.point) : std::nullopt;
      if (!call || !speakers(*call)) return false;
      if (silent_ == nullptr || silent_->tier >= rule.tier || (tier != nullptr && tier != silent_))
        return false;
      tier = silent_;
      if (!apart(own, action, *tier)) return false;
      if (example.empty() && !own.boxes.front().vague) {
        example = ", for example " + spell_call(action, inside.point);
      }
    }
    if (tier == nullptr) return false;
    warn("P0305", rule,
         "never takes effect: tier " + quoted(spelling(tier->tier)) + " above (" + quoted(tier->name) +
             ") allows nothing of what it allows" + example);
    return true;
  }
  // Whether no rule of a tier that allows or asks is about any call of a region.
  bool apart(const Region& own, std::size_t action, const TierStance& tier) {
    std::size_t compared = 0;
    for (const auto& other : program_.rules()) {
      if (other.tier != tier.tier || other.effect == Effect::deny || !other.actions.test(action)) continue;
      if (++compared > kMaxAbove) return false;
      const auto& theirs = region(other, action);
      if (theirs.given_up || theirs.waits || (other.effect == Effect::ask && !theirs.emptied.empty()))
        return false;
      for (const auto& box : own.boxes) {
        for (const auto& their : theirs.boxes) {
          if (overlap(box, their, steps_) != Meeting::End::none) return false;
        }
      }
    }
    return true;
  }

  const RuleProgram& program_;
  std::array<Unseen, std::variant_size_v<Action>> unseen_;
  std::vector<Region> regions_;  // of each rule, where all of it is seen at once
  std::array<std::vector<std::optional<Region>>, std::variant_size_v<Action>> regions_of_;  // elsewhere
  std::vector<bool> without_use_;
  Diagnostics found_;
  RuleProgram::Scratch scratch_;
  const TierStance* silent_ = nullptr;  // of the last example
  std::size_t steps_ = kSteps;
  std::size_t rules_asked_ = kRulesAsked;
};

}  // namespace

std::vector<Diagnostic> check_rules(const RuleProgram& program) { return Checks(program).run(); }

void add_warnings(Compiled& compiled, const RuleProgram& program) {
  join(compiled.diagnostics, check_rules(program));
  join(compiled.diagnostics, std::exchange(compiled.loose_ends, {}));
}

Compiled compile_and_check(std::span<const Source> sources, const Facts& settings) {
  auto compiled = compile(sources, settings);
  const auto* program = dynamic_cast<const RuleProgram*>(compiled.program.get());
  if (program == nullptr) return compiled;
  add_warnings(compiled, *program);
  return compiled;
}

}  // namespace policy
