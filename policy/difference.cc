#include "policy/difference.h"

#include <algorithm>
#include <utility>

namespace policy {
namespace {

std::string_view word(Change::How how) {
  switch (how) {
    case Change::How::added:
      return "added";
    case Change::How::removed:
      return "removed";
    case Change::How::changed:
      return "changed";
  }
  return {};
}

std::string by(Effect effect, const RuleRef& rule) {
  return std::string(spelling(effect)) + " " + rule.id + (rule.where.empty() ? "" : " (" + rule.where + ")");
}

std::string proof(const WitnessSearch& search) {
  std::string text = std::to_string(search.tried) + " calls were tried";
  if (!search.complete) text += ", not every combination";
  return text + "; a call that none of them shows may still have become possible";
}

Json rule_json(Effect effect, const RuleRef& rule) {
  auto json = to_json(rule);
  json["effect"] = spelling(effect);
  return json;
}

}  // namespace

bool Difference::widens() const {
  return !search.found.empty() ||
         std::any_of(changes.begin(), changes.end(), [](const Change& change) { return change.widens; });
}

Difference difference(const Anatomy& before, const Anatomy& after) {
  return {changes(before, after), find_widenings(before, after)};
}

Json to_json(const Difference& difference) {
  Json::Array changes, witnesses;
  for (const auto& change : difference.changes) {
    Json one(Json::Object{{"how", word(change.how)},
                          {"tier", spelling(change.tier)},
                          {"kind", change.kind},
                          {"id", change.id},
                          {"widens", change.widens}});
    if (change.how != Change::How::added) one["was"] = change.was;
    if (change.how != Change::How::removed) one["is"] = change.is;
    changes.push_back(std::move(one));
  }
  for (const auto& witness : difference.search.found) {
    Json one(Json::Object{{"test", witness.statement},
                          {"was", rule_json(witness.was, witness.was_by)},
                          {"is", rule_json(witness.is, witness.is_by)},
                          {"subject_gone", witness.subject_gone}});
    if (!witness.lowered_less.empty()) one["lowered_less"] = witness.lowered_less;
    if (!witness.beside.empty()) one["beside"] = witness.beside;
    witnesses.push_back(std::move(one));
  }
  Json json(Json::Object{{"changes", std::move(changes)}, {"widenings", std::move(witnesses)}});
  json["tried"] = static_cast<std::int64_t>(difference.search.tried);
  json["complete"] = difference.search.complete;
  json["widens"] = difference.widens();
  return json;
}

std::string to_text(const Difference& difference) {
  std::string out;
  for (const auto& change : difference.changes) {
    out += std::string(word(change.how)) + ": " + change.kind + " `" + change.id + "` of tier " +
           std::string(spelling(change.tier)) + (change.widens ? ", which widens" : "") + "\n";
    if (!change.was.empty()) out += "  - " + change.was + "\n";
    if (!change.is.empty()) out += "  + " + change.is + "\n";
  }
  if (difference.changes.empty()) out += "nothing is written otherwise, but for examples and tests\n";
  for (const auto& witness : difference.search.found) {
    out += "\n# " +
           (witness.lowered_less.empty() ? "was " + by(witness.was, witness.was_by)
                                         : "`" + witness.lowered_less + "` is lowered less than by " +
                                               by(witness.was, witness.was_by)) +
           "\n";
    if (!witness.beside.empty()) out += "# " + witness.beside + "\n";
    if (witness.subject_gone) out += "# the new policy does not name this subject\n";
    out += "- " + witness.statement + "\n";
  }
  out += std::string("\n") +
         (difference.search.found.empty() ? "no call was found that became possible: "
                                          : "each line above can stand under `tests:` of the new policy: ") +
         proof(difference.search) + "\n";
  return out;
}

}  // namespace policy
