#include "policy/compare.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "policy/yaml_flow.h"

namespace policy {
namespace {

using Key = std::tuple<Tier, std::string, std::string>;

struct Section {
  std::string_view name, kind;
};
constexpr std::array<Section, 9> kSections{{
    {"actions", "rule"},
    {"input", "rule"},
    {"web", "rule"},
    {"vmrun", "vmrun rule"},
    {"limits", "limit"},
    {"sets", "set"},
    {"subjects", "subject"},
    {"waivers", "waiver"},
    {"secrets", "secret"},
}};

std::string as_written(const yaml::Node& node) {
  auto bare = node;
  std::erase_if(bare.entries, [](const yaml::Entry& entry) { return entry.key == "examples"; });
  return yaml::statement(bare);
}

std::map<Key, std::string> written(const Anatomy& anatomy) {
  std::map<Key, std::string> all;
  for (const auto& file : anatomy.files) {
    for (const auto& section : kSections) {
      const auto* entry = file.root.find(section.name);
      if (entry == nullptr) continue;
      for (const auto& one : entry->value.entries) {
        all.emplace(Key{file.tier, std::string(section.kind), one.key}, as_written(one.value));
      }
    }
  }
  for (const auto& [tier, part] : anatomy.tiers) {
    all.emplace(Key{tier, "key", "default"}, part.scope.inherit ? "inherit" : "deny");
    all.emplace(Key{tier, "key", "name"}, part.scope.name);
  }
  return all;
}

const Limit* limit_of(const Anatomy& anatomy, const Key& key) {
  const auto part = anatomy.tiers.find(std::get<0>(key));
  if (part == anatomy.tiers.end()) return nullptr;
  for (const auto& limit : part->second.limits) {
    if (limit.rule.id == std::get<2>(key)) return &limit;
  }
  return nullptr;
}

// A limit that is gone, counts something else, or lets more through in no longer time.
bool limit_widens(const Limit* was, const Limit* is) {
  if (was == nullptr) return false;
  if (is == nullptr || was->meter != is->meter || was->per != is->per) return true;
  // Neither a window nor a bucket bounds all that the other does.
  if ((was->burst == 0) != (is->burst == 0) || is->burst > was->burst) return true;
  return is->max > was->max || is->window < was->window;
}

const Rule* rule_of(const Anatomy& anatomy, const Key& key) {
  const auto* placed = anatomy.rule({std::get<2>(key), std::string(spelling(std::get<0>(key))), ""});
  return placed == nullptr ? nullptr : &placed->parsed.rule;
}

std::set<std::string> injected_by(const Rule* rule) {
  std::set<std::string> names;
  if (rule == nullptr) return names;
  for (const auto& secret : rule->injects) names.insert(secret->gives.secret.id);
  return names;
}

// Secrets that it did not send before: no call that is tried shows them.
bool injects_more(const Anatomy& before, const Anatomy& after, const Key& key) {
  const auto was = injected_by(rule_of(before, key)), is = injected_by(rule_of(after, key));
  return !std::includes(was.begin(), was.end(), is.begin(), is.end());
}

// A label that it no longer puts, though it still lets through what it did: later calls would have met the
// rules that ask about it, and calls are tried one by one.
bool labels_less(const Anatomy& before, const Anatomy& after, const Key& key) {
  const auto *was = rule_of(before, key), *is = rule_of(after, key);
  if (was == nullptr || is == nullptr || is->effect == Effect::deny) return false;
  return std::any_of(was->labels.begin(), was->labels.end(), [&](const std::string& label) {
    return std::find(is->labels.begin(), is->labels.end(), label) == is->labels.end();
  });
}

// Whom a rule asks, empty where it asks nobody.
std::string asked_by(const Anatomy& anatomy, const Key& key) {
  const auto* rule = rule_of(anatomy, key);
  return rule != nullptr ? rule->ask_who : std::string();
}

// Other people: each of them may be one who was not meant before. Calls are tried for one of each subject
// only.
bool people_widen(const Change& change, const Anatomy& before, const Anatomy& after, const Key& key) {
  if (change.how != Change::How::changed) return false;
  if (change.kind == "subject") return true;
  const auto was = asked_by(before, key), is = asked_by(after, key);
  return change.kind == "rule" && !was.empty() && !is.empty() && was != is;
}

}  // namespace

std::vector<Change> changes(const Anatomy& before, const Anatomy& after) {
  const auto old = written(before), fresh = written(after);
  std::map<Key, Change> found;
  const auto note = [&](const Key& key) {
    const auto was = old.find(key), is = fresh.find(key);
    Change change;
    change.how = was == old.end()    ? Change::How::added
                 : is == fresh.end() ? Change::How::removed
                                     : Change::How::changed;
    std::tie(change.tier, change.kind, change.id) = key;
    if (was != old.end()) change.was = was->second;
    if (is != fresh.end()) change.is = is->second;
    if (change.kind == "limit") change.widens = limit_widens(limit_of(before, key), limit_of(after, key));
    if (change.kind == "waiver" || change.kind == "secret")
      change.widens = change.how != Change::How::removed;
    if (change.kind == "rule" && !change.widens)
      change.widens = injects_more(before, after, key) || labels_less(before, after, key);
    change.widens = change.widens || people_widen(change, before, after, key);
    if (change.was != change.is) found.emplace(key, std::move(change));
  };
  for (const auto& [key, text] : old) note(key);
  for (const auto& [key, text] : fresh) note(key);
  std::vector<Change> all;
  for (auto& [key, change] : found) all.push_back(std::move(change));
  return all;
}

}  // namespace policy
