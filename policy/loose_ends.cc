#include "policy/loose_ends.h"

#include <algorithm>
#include <vector>

#include "policy/wording.h"

namespace policy {
namespace {

// Rules that are named; of further ones only the number is told.
constexpr std::size_t kMaxNamed = 5;

void warn(const ReadInto& into, std::string code, Position at, std::string message) {
  into.diagnostics->warning(std::move(code), into.file, at, std::move(message));
}

void find_names(const yaml::Node& file, std::string_view section,
                const std::set<std::string, std::less<>>& used, const auto& tell) {
  const auto* names = file.find(section);
  if (names == nullptr) return;
  for (const auto& entry : names->value.entries) {
    if (!used.contains(entry.key)) tell(entry);
  }
}

void find_untested(const yaml::Node& file, const TierUse& use, const ReadInto& into) {
  std::vector<const yaml::Entry*> untested;
  std::size_t rules = 0;
  for (const std::string_view section : {"actions", "input", "web", "vmrun"}) {
    if (const auto* found = file.find(section)) rules += found->value.entries.size();
    find_names(file, section, use.spoke, [&](const yaml::Entry& entry) { untested.push_back(&entry); });
  }
  if (untested.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(untested.size(), kMaxNamed); ++i) {
    names += (i == 0 ? "" : ", ") + quoted(untested[i]->key);
  }
  if (untested.size() > kMaxNamed) names += " and " + std::to_string(untested.size() - kMaxNamed) + " more";
  warn(into, "P0309", untested.front()->at,
       "no test or example is about " + std::to_string(untested.size()) + " of the " + std::to_string(rules) +
           (rules == 1 ? " rule" : " rules") + " of this file: " + names);
}

// A label that rules ask about and none puts, where one that is put is spelt nearly the same.
void find_misspelt_labels(const NamesUsed& names, const ReadInto& into) {
  const std::vector<std::string_view> put(names.labels_put.begin(), names.labels_put.end());
  for (const auto& [label, where] : names.labels_asked) {
    if (where.first != into.file || names.labels_put.contains(label)) continue;
    const auto near = suggestion(label, put);
    if (!near.empty()) warn(into, "P0310", where.second, "no rule puts the label " + quoted(label) + near);
  }
}

}  // namespace

void find_loose_ends(const yaml::Node& file, const TierUse& use, const ReadInto& into) {
  find_names(file, "sets", use.names.sets, [&](const yaml::Entry& entry) {
    warn(into, "P0307", entry.at,
         "no rule names the set " + quoted(entry.key) + "; remove it, or write `$" + entry.key +
             "` where it is meant");
  });
  find_names(file, "subjects", use.names.subjects, [&](const yaml::Entry& entry) {
    warn(into, "P0308", entry.at, "no rule and no test names the subject " + quoted(entry.key));
  });
  find_names(file, "secrets", use.names.secrets, [&](const yaml::Entry& entry) {
    warn(into, "P0311", entry.at,
         "no rule injects the secret " + quoted(entry.key) +
             "; it goes nowhere until one says `inject: " + entry.key + "`");
  });
  find_misspelt_labels(use.names, into);
  if (use.tested) find_untested(file, use, into);
}

}  // namespace policy
