#include "policy/regex.h"

#include <utility>

#include <re2/re2.h>

#include "policy/regex_automaton.h"
#include "policy/regex_syntax.h"

namespace policy {
namespace {

constexpr std::int64_t kMaxMemory = 1 << 20;  // bytes, of what RE2 makes of a pattern

}  // namespace

Result<Regex> Regex::parse(std::string_view pattern, Where where) {
  if (pattern.empty()) return fail("policy.pattern", "the regular expression is empty");
  if (pattern.size() > kMaxPattern) {
    return fail("policy.pattern",
                "the regular expression is longer than " + std::to_string(kMaxPattern) + " bytes");
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  const RE2 reader(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!reader.ok()) return fail("policy.pattern", "no regular expression: " + reader.error());

  Steps steps(kMaxSteps);
  auto tree = read_regex(pattern);
  if (!tree) return tl::unexpected(std::move(tree.error()));
  const auto places = places_of(*tree, steps);
  if (!places) return tl::unexpected(places.error());
  auto automaton =
      RegexAutomaton::make(*places, where == Where::whole ? Search::whole : Search::anywhere, steps);
  if (!automaton) return tl::unexpected(std::move(automaton.error()));
  return Regex(std::string(pattern), where, std::make_shared<const RegexAutomaton>(std::move(*automaton)),
               kMaxSteps - steps.left());
}

Tri Regex::found_in(std::string_view text) const {
  return text.size() > kMaxText ? Tri::unknown : automaton_->read(text);
}

std::size_t Regex::states() const { return automaton_->states(); }
std::size_t Regex::cells() const { return automaton_->cells(); }

bool RegexBudget::take_one() {
  spent_ = spent_ || expressions_ == kMaxExpressions;
  if (!spent_) ++expressions_;
  return !spent_;
}

bool RegexBudget::take_tables(const Regex& regex) {
  spent_ = spent_ || regex.cells() > kMaxCells - cells_;
  if (!spent_) cells_ += regex.cells();
  return !spent_;
}

}  // namespace policy
