#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "policy/result.h"
#include "policy/tri.h"

namespace policy {

class RegexAutomaton;

// A regular expression in the syntax of RE2, meaning what it means there. It is one automaton of bounded
// size, made when it is parsed: RE2 makes its own while it reads a text, and takes a hundred times as long
// for some of them.
class Regex final {
 public:
  static constexpr std::size_t kMaxPattern = 512;    // bytes
  static constexpr std::size_t kMaxText = 4 * 1024;  // bytes of text that is looked at
  static constexpr std::size_t kMaxSteps = 600'000;  // of making one

  enum class Where { whole, anywhere };
  // Code: policy.pattern.
  static Result<Regex> parse(std::string_view pattern, Where);

  // `unknown` for a text that is too long or no UTF-8.
  Tri found_in(std::string_view text) const;
  const std::string& text() const { return text_; }
  Where where() const { return where_; }
  std::size_t states() const;
  // What its tables take, in two bytes each.
  std::size_t cells() const;
  // What making it took, of kMaxSteps.
  std::size_t steps() const { return steps_; }

 private:
  Regex(std::string text, Where where, std::shared_ptr<const RegexAutomaton> automaton, std::size_t steps)
      : text_(std::move(text)), where_(where), automaton_(std::move(automaton)), steps_(steps) {}

  std::string text_;
  Where where_;
  std::shared_ptr<const RegexAutomaton> automaton_;
  std::size_t steps_;
};

// What all expressions of a policy may take together. An expression costs as much as it stands in rules and
// waivers, for each asks it anew.
//
// A byte of text takes 2.1 ns an expression (policy_bench, WorstExpressions), so that 24 of them over 4 KiB
// take 0.2 ms. A rule that asks may be judged three times in a decision, for whom it speaks and whose labels
// it puts, which makes 0.6 ms. Where their tables, 256 KiB at most, are in no cache, the first time takes 0.4
// ms longer.
class RegexBudget final {
 public:
  static constexpr std::size_t kMaxExpressions = 24;
  static constexpr std::size_t kMaxCells = 128 * 1024;

  // False from the first that is too much on. One that is refused counts, for it took work to find that out.
  bool take_one();
  bool take_tables(const Regex&);
  bool is_spent() const { return spent_; }

 private:
  std::size_t expressions_ = 0, cells_ = 0;
  bool spent_ = false;
};

}  // namespace policy
