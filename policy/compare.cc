#include "policy/compare.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "policy/wording.h"
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

const Secret* secret_of(const Anatomy& anatomy, const Key& key) {
  const auto part = anatomy.tiers.find(std::get<0>(key));
  if (part == anatomy.tiers.end()) return nullptr;
  const auto found = part->second.scope.secrets.find(std::get<2>(key));
  return found == part->second.scope.secrets.end() ? nullptr : found->second.get();
}

// Where it goes and how, in whatever way that is written.
std::string meaning(const Secret* secret) {
  if (secret == nullptr) return {};
  std::vector<std::string> parts;
  for (const auto& part : std::get<AllOf>(secret->bound.is).parts) {
    std::set<std::string> values;
    const Fact* fact = nullptr;
    if (const auto* words = std::get_if<WordIs>(&part.is)) {
      fact = &words->fact;
      values.insert(words->words.begin(), words->words.end());
    } else if (const auto* paths = std::get_if<PathLike>(&part.is)) {
      fact = &paths->fact;
      for (const auto& pattern : paths->patterns) values.insert(pattern.text());
    } else if (const auto* numbers = std::get_if<NumberIs>(&part.is)) {
      fact = &numbers->fact;
      for (const auto& range : numbers->ranges) values.insert(std::to_string(range.min.value_or(0)));
    }
    if (fact != nullptr)
      parts.push_back(std::string(info_of(*fact).name) + " " + joined({values.begin(), values.end()}));
  }
  std::sort(parts.begin(), parts.end());
  auto text = secret->gives.header + " as " + std::string(spelling(secret->gives.as));
  for (const auto& part : parts) text += "; " + part;
  return text;
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
    if (change.kind == "secret")
      change.widens = change.how != Change::How::removed &&
                      meaning(secret_of(before, key)) != meaning(secret_of(after, key));
    change.widens = change.widens || people_widen(change, before, after, key);
    // By way of a set.
    if (change.was == change.is && change.widens) {
      change.was = meaning(secret_of(before, key));
      change.is = meaning(secret_of(after, key));
    }
    if (change.was != change.is) found.emplace(key, std::move(change));
  };
  for (const auto& [key, text] : old) note(key);
  for (const auto& [key, text] : fresh) note(key);
  std::vector<Change> all;
  for (auto& [key, change] : found) all.push_back(std::move(change));
  return all;
}

}  // namespace policy
