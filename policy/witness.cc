#include "policy/witness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "policy/builtin.h"
#include "policy/candidates.h"
#include "policy/compare.h"
#include "policy/stated_question.h"
#include "policy/stated_words.h"
#include "policy/wording.h"
#include "policy/yaml_flow.h"

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

// Combinations tried for one action; beyond them it is left to chance, with the same dice each time.
constexpr std::size_t kMaxTried = 4'000;
// Values of other rules that are tried with those of the rules that differ.
constexpr std::size_t kFew = 3;

bool looser(const std::optional<std::chrono::seconds>& was, const std::optional<std::chrono::seconds>& is) {
  return was && (!is || *is > *was);
}

class Search {
 public:
  Search(const Anatomy& before, const Anatomy& after) : before_(before), after_(after) {
    scope_.subjects = after.everyone.subjects;
    for (const auto& [name, is] : before.everyone.subjects) scope_.subjects.emplace(name, is);
  }

  WitnessSearch run() {
    for (const auto* anatomy : {&before_, &after_}) {
      for (const auto& map : stated_in(*anatomy)) judge(map.find("call")->value.text, map);
    }
    const auto differing = differing_rules();
    for (const auto& word : action_words()) {
      if (word.name == "any") continue;
      const std::vector<const Anatomy*> both{&before_, &after_};
      const auto all = pools_for(word, both, [](const Rule&) { return true; });
      const auto near = pools_for(
          word, both, [&](const Rule& rule) { return differing.contains({rule.tier, rule.ref.id}); });
      // What the differing rules ask first: in a large policy that is where the change is.
      if (near != all) combine(std::string(word.name), joined(near, all), Part::of_it);
      combine(std::string(word.name), all, Part::all_of_it);
    }
    Pools verbs;
    for (const auto name : vmrun_verb_names()) verbs["verb"].push_back(stated_value("verb", name));
    combine(std::string(Vmrun::kName), verbs, Part::all_of_it);
    for (auto& [key, witness] : found_) result_.found.push_back(std::move(witness));
    return std::move(result_);
  }

 private:
  enum class Part { of_it, all_of_it };
  using RuleIds = std::set<std::pair<Tier, std::string>>;

  // Rules that are written otherwise, or that stand in one of the two only.
  RuleIds differing_rules() const {
    RuleIds ids;
    for (const auto& change : changes(before_, after_)) {
      if (change.kind == "rule") ids.emplace(change.tier, change.id);
    }
    return ids;
  }

  // The values of the first, and a few more of the second for each key.
  static Pools joined(Pools near, const Pools& all) {
    for (const auto& [key, values] : all) {
      auto& pool = near[key];
      const auto room = pool.size() + kFew;
      for (const auto& value : values) {
        if (pool.size() < room) pool.push_back(value);
      }
    }
    return near;
  }

  struct Dimension {
    const std::string* key;
    const std::vector<yaml::Node>* values;
    std::size_t choices;  // one more than values where it may be left out
  };

  // Every combination where there are few. Else each value once, and a sample with the same dice each time. A
  // key may also be left out where the gateway, and not the caller, knows it.
  void combine(const std::string& call, const Pools& pools, Part part) {
    std::vector<Dimension> dimensions;
    std::size_t product = 1;
    for (const auto& [key, values] : pools) {
      const bool optional = key != "verb";
      dimensions.push_back({&key, &values, values.size() + (optional ? 1 : 0)});
      product = std::min(product * dimensions.back().choices, kMaxTried + 1);
    }
    if (product <= kMaxTried) {
      for (std::size_t n = 0; n < product; ++n) {
        auto rest = n;
        judge(call, made(dimensions, [&rest](std::size_t, std::size_t choices) {
                return std::exchange(rest, rest / choices) % choices;
              }));
      }
      return;
    }
    if (part == Part::all_of_it) result_.complete = false;
    std::mt19937 dice(1);
    std::size_t tries = kMaxTried;
    const auto roll = [&](std::size_t fixed, std::size_t value) {
      judge(call, made(dimensions, [&](std::size_t dimension, std::size_t choices) {
              return dimension == fixed ? value : dice() % choices;
            }));
    };
    for (std::size_t fixed = 0; fixed < dimensions.size(); ++fixed) {
      for (std::size_t value = 0; value < dimensions[fixed].choices && tries > 0; ++value, --tries)
        roll(fixed, value);
    }
    for (; tries > 0; --tries) roll(dimensions.size(), 0);
  }

  template <class Choose>
  static yaml::Node made(const std::vector<Dimension>& dimensions, Choose choose) {
    yaml::Node map;
    map.kind = Kind::map;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      const auto choice = choose(i, dimensions[i].choices);
      if (choice < dimensions[i].values->size())
        state(map, *dimensions[i].key, (*dimensions[i].values)[choice]);
    }
    return map;
  }

  struct Flip {
    Witness witness;
    std::tuple<std::string, std::string, std::string, std::string> key;
    std::size_t unknown = 0;  // facts that a rule of either policy missed
  };

  static std::string beside(const Judgement& was, const Judgement& is) {
    if (was.effect == Effect::deny || is.effect == Effect::deny) return {};
    for (const auto& [label, tier] : was.labels) {
      const auto still = is.labels.find(label);
      if (still == is.labels.end() || still->second > tier)
        return "the label " + quoted(label) + " is not put as it was";
    }
    for (const auto& sent : is.injections) {
      const auto same =
          std::find_if(was.injections.begin(), was.injections.end(), [&](const Injection& other) {
            return other.secret.id == sent.secret.id && other.secret.tier == sent.secret.tier;
          });
      if (same == was.injections.end()) return "the secret " + quoted(sent.secret.id) + " goes with it";
    }
    return {};
  }

  std::optional<Flip> flip(const std::string& call, const yaml::Node& map) const {
    Diagnostics quiet;
    const auto question = read_question(call, {1, 1}, map, scope_, {"candidate", &quiet});
    if (!question) return std::nullopt;
    const auto was = answer(*before_.whole, *question), is = answer(*after_.whole, *question);
    Flip flip;
    flip.witness.was = was.judgement.effect;
    flip.witness.is = is.judgement.effect;
    flip.unknown = was.judgement.unknown.size() + is.judgement.unknown.size();
    flip.witness.was_by = was.judgement.rule;
    flip.witness.is_by = is.judgement.rule;
    if (is.judgement.effect == was.judgement.effect && is.judgement.effect != Effect::deny) {
      const auto* timeout = std::get_if<Run>(&question->requests.front().what);
      const auto* by = std::get_if<Extend>(&question->requests.front().what);
      if (timeout != nullptr && looser(was.clamp.timeout, is.clamp.timeout) &&
          timeout->timeout > *was.clamp.timeout)
        flip.witness.lowered_less = "timeout";
      if (by != nullptr && looser(was.clamp.by, is.clamp.by) && by->by > *was.clamp.by)
        flip.witness.lowered_less = "by";
    }
    flip.witness.beside = beside(was.judgement, is.judgement);
    if (is.judgement.effect >= was.judgement.effect && flip.witness.lowered_less.empty() &&
        flip.witness.beside.empty())
      return std::nullopt;
    flip.key = {call, was.judgement.rule.tier + was.judgement.rule.id,
                is.judgement.rule.tier + is.judgement.rule.id,
                flip.witness.lowered_less + flip.witness.beside};
    return flip;
  }

  void judge(const std::string& call, yaml::Node map) {
    std::erase_if(map.entries, [](const yaml::Entry& entry) { return entry.key == "call"; });
    ++result_.tried;
    auto first = flip(call, map);
    if (!first || found_.contains(first->key)) return;
    shorten(call, map, *first);
    const auto* as = map.find("as");
    first->witness.subject_gone =
        as != nullptr && as->value.text != "system" && !after_.everyone.subjects.contains(as->value.text);
    first->witness.statement = written(call, map, first->witness);
    found_.emplace(first->key, std::move(first->witness));
  }

  // Leaves out whatever the flip does not rest on, but for what a rule would then miss.
  void shorten(const std::string& call, yaml::Node& map, const Flip& whole) const {
    for (std::size_t i = map.entries.size(); i-- > 0;) {
      auto less = map;
      less.entries.erase(less.entries.begin() + static_cast<std::ptrdiff_t>(i));
      const auto still = flip(call, less);
      if (still && still->key == whole.key && still->unknown <= whole.unknown) map = std::move(less);
    }
  }

  static std::string written(const std::string& call, const yaml::Node& map, const Witness& witness) {
    yaml::Node test;
    test.kind = Kind::map;
    state(test, "call", stated_value("call", call));
    for (const auto& entry : map.entries) test.entries.push_back(entry);
    const auto expected = std::string(spelling(witness.is)) + " " + witness.is_by.id;
    state(test, "expect", stated_value("expect", expected));
    return yaml::statement(test);
  }

  const Anatomy& before_;
  const Anatomy& after_;
  Scope scope_;
  std::map<decltype(Flip::key), Witness> found_;
  WitnessSearch result_;
};

}  // namespace

WitnessSearch find_widenings(const Anatomy& before, const Anatomy& after) {
  return Search(before, after).run();
}

}  // namespace policy
