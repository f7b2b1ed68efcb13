#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/facts.h"
#include "policy/glob.h"
#include "policy/regex.h"

// What a rule asks, compiled. Answers have three values; only the rule itself decides what `unknown` means.
namespace policy {

struct Condition;

struct AllOf {
  std::vector<Condition> parts;  // none: yes
};
struct AnyOf {
  std::vector<Condition> parts;  // none: no
};
struct NotThis {
  std::vector<Condition> part;  // exactly one
};
// Each list that is not empty must hold the subject's value; a value that is not known is unknown.
struct NamedSubject {
  std::string name;  // as the policy calls these subjects
  std::vector<Transport> transports;
  std::vector<std::string> os_users;
  std::vector<std::uint32_t> uids;
  std::vector<std::string> clients;  // self-declared
  // Of a checked token: exact, but `subject` and `audience` are patterns of text.
  std::vector<std::string> issuers = {}, token_subjects = {}, audiences = {};
};
// One description serves all rules that name it.
struct SubjectIs {
  std::shared_ptr<const NamedSubject> subject;
};
// Both ends belong to it.
struct Range {
  std::optional<std::int64_t> min = {}, max = {};

  static Range of(std::int64_t one) { return {one, one}; }
  bool is_empty() const { return min && max && *min > *max; }
  bool has(std::int64_t number) const { return (!min || number >= *min) && (!max || number <= *max); }
};
struct SettingIs {
  std::string fact;               // `settings.web`
  std::vector<FactValue> values;  // any of them, when there are some
  Range range = {};               // else a number in it

  std::string_view name() const { return std::string_view(fact).substr(fact.find('.') + 1); }
};
struct WordIs {
  Fact fact;
  std::vector<std::string> words;  // any of them
};
struct TextLike {
  Fact fact;
  std::vector<std::string> patterns;  // any of them
};
struct NumberIs {
  Fact fact;
  std::vector<Range> ranges;  // any of them
};
// Also hosts, whose labels stand like a path with the top level first: `*.example.org` is `org/example/**`.
struct PathLike {
  Fact fact;
  std::vector<PathPattern> patterns;  // any of them
  Dotfiles dotfiles;
};
struct AddressIn {
  Fact fact;
  std::vector<Cidr> blocks;
  enum class How { any, every } how = How::any;  // of the addresses that a host has
};
// A regular expression, over the whole text or anywhere in it.
struct TextMatches {
  Fact fact;
  std::vector<Regex> patterns;  // any of them
};
// `seen_from`: labels that a lower tier set do not count. So it is in all of a rule that allows, even where
// it says `not`, for a label that kept the rule from speaking would also undo what else the rule says; and
// wherever having the label would make more possible.
struct LabelsHave {
  std::vector<std::string> labels;
  enum class How { any, all } how = How::any;
  std::optional<Tier> seen_from = {};
};

struct Condition {
  std::variant<AllOf, AnyOf, NotThis, SubjectIs, SettingIs, WordIs, TextLike, NumberIs, PathLike, LabelsHave,
               AddressIn, TextMatches>
      is;
};

// Whether a value that is known is among those asked for. The one reading of a matcher: what decides calls
// and what compares rules both rest on it.
bool takes(const WordIs&, std::string_view word);
bool takes(const TextLike&, std::string_view text);
bool takes(const NumberIs&, std::int64_t number);
bool takes(const PathLike&, std::span<const std::string> names);
bool takes(const AddressIn&, std::span<const Address> addresses);

// Facts that were needed and missing.
struct Gaps {
  std::bitset<kFacts> facts;
  std::vector<std::string_view> named;  // settings and what is known of a subject; point into the condition
  bool later = false;                   // one was needed that will be known when the question is asked again
};

// `later` is the answer for a fact that will be known when the question is asked again; `not` turns it round.
Tri evaluate(const Condition&, const Question&, Tri later, Gaps&);

// The names of the questions that were answered with something else than yes, for telling a person what kept
// a rule from matching: `host_path`, `for`, `settings.web`. They live as long as the condition.
void unmet(const Condition&, const Question&, Tri later, std::vector<std::string_view>& names);

}  // namespace policy
