#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/compile.h"
#include "policy/condition.h"
#include "policy/mapping.h"
#include "policy/secret.h"

// The names that the files of one tier share.
namespace policy {

struct NamedSet {
  enum class Kind { paths, words, hosts, cidrs, re2 } kind = Kind::words;
  std::vector<std::string> values;
  std::string where;
};

// The keys that sets are written with, in the order of kinds.
std::span<const std::string_view> set_kinds();
std::string_view spelling(NamedSet::Kind);

// The names that something asks for.
struct NamesUsed {
  std::set<std::string, std::less<>> sets, subjects, secrets, labels_put;
  std::map<std::string, std::pair<std::string, Position>, std::less<>> labels_asked;  // file and place of one
};

struct Scope {
  Tier tier = Tier::user;
  std::string name;
  bool inherit = false;
  std::map<std::string, NamedSet, std::less<>> sets;
  std::map<std::string, SubjectIs, std::less<>> subjects;
  std::map<std::string, std::string, std::less<>> subject_places;
  std::map<std::string, std::shared_ptr<const Secret>, std::less<>> secrets;
  // Gets each name that is looked up; null where nobody wants to know.
  NamesUsed* used = nullptr;
  // What is left for regular expressions, of all tiers together; null where what is read becomes no program.
  RegexBudget* expressions = nullptr;
};

// The sections `sets:` and `subjects:` of one file, added to the scope of its tier.
void compile_names(const yaml::Node& file, const ReadInto& into, Scope& scope);

// A client's way in, as policies spell it.
std::optional<Transport> transport_from(std::string_view text);

// Looks a `$name` up; reports an unknown one and one of another kind. `at` is where it is used.
const NamedSet* find_set(std::string_view reference, NamedSet::Kind kind, const Scope& scope, Position at,
                         const ReadInto& into);

// That something asks for the subject of this name.
void note_subject(const Scope&, std::string_view name);

// What `for:` names; reports unknown ones. With `self_declared` refused, a subject that rests on what a
// client says of itself is an error.
enum class SelfDeclared { refused, accepted };
std::optional<Condition> compile_subjects_named(const yaml::Node& node, const Scope& scope, SelfDeclared rule,
                                                const ReadInto& into);

// Labels are words of letters, digits, `-`, `_` and `.`, up to 64 bytes; reports others.
bool check_label(std::string_view label, Position at, const ReadInto&);

// Whom an ask rule's `who` means, as Judgement::ask_who spells it: `user` when nothing is said, `client`
// where the user may answer in the client that calls. A subject that rests on what a client says of itself
// approves nothing.
std::string compile_people(const yaml::Entry* entry, const Scope& scope, const ReadInto& into);
std::string people_named(Tier tier, std::string_view subject);

}  // namespace policy
