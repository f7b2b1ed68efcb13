#pragma once

#include <bitset>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/compile_scope.h"
#include "policy/facts.h"
#include "policy/rule_program.h"

namespace policy {

// A question written down in a test. It owns what it asks about.
struct StatedQuestion {
  std::vector<Request> requests;  // one after the other: `copy_out` is asked in two halves
  Facts settings;
  std::bitset<kFacts> withheld;
  std::vector<Request> instead = {};  // where those are refused: https that nobody looks into
};

// The keys that state something: facts, `as`, `sandbox`, `settings`, and `at`, the day it is asked.
std::span<const std::string_view> statement_keys();

// Reads the entries of `map` as a question about the action `call`. What a caller has to say and the text
// leaves out is unknown; what the gateway finds out is that of one small file and of a sandbox just made;
// settings are the known defaults. `unknown` withholds a fact. Nothing, with a report, when it is malformed.
std::optional<StatedQuestion> read_question(std::string_view call, Position at, const yaml::Node& map,
                                            const Scope&, const ReadInto&);

// What rules say of a whole question: of the first half that they do not allow, else of the last; and of what
// stands instead, where that is better for the caller.
struct Answer {
  Judgement judgement;
  Clamp clamp;
  std::vector<RuleRef> before;  // rules that spoke on a half before
};
Answer answer(const RuleProgram&, const StatedQuestion&);
// Makes of a last step that only goes on because a person may be asked that question.
void ask_at_last(Judgement&);
// What the answer is about: `requests`, or `instead` where the rules let that pass more easily.
const std::vector<Request>& asked_of(const RuleProgram&, const StatedQuestion&);

}  // namespace policy
