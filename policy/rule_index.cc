#include "policy/rule_index.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace policy {
namespace {

// Something that must hold or be unknown for a condition to answer anything but no: one of the words, or one
// of the patterns.
struct Hold {
  Handle handle;
  std::vector<std::string> words;
  std::vector<const PathPattern*> patterns;  // point into the condition
};

std::string spell(std::uint32_t uid) { return std::to_string(uid); }

std::vector<Hold> holds_of(const Condition&);

// What a condition certainly requires, in the ways it can be looked up. None: it may answer anything.
struct Requirements {
  std::vector<Hold> operator()(const AllOf& all) const {
    std::vector<Hold> holds;
    for (const auto& part : all.parts) {
      for (auto& hold : holds_of(part)) holds.push_back(std::move(hold));
    }
    return holds;
  }
  // Of the first part's, those that every other part has as well.
  std::vector<Hold> operator()(const AnyOf& any) const {
    if (any.parts.empty()) return {};
    auto holds = holds_of(any.parts.front());
    for (auto part = any.parts.begin() + 1; part != any.parts.end() && !holds.empty(); ++part) {
      auto others = holds_of(*part);
      std::erase_if(holds, [&](Hold& hold) {
        const auto same = std::find_if(others.begin(), others.end(),
                                       [&](const Hold& other) { return other.handle == hold.handle; });
        if (same == others.end()) return true;
        hold.words.insert(hold.words.end(), same->words.begin(), same->words.end());
        hold.patterns.insert(hold.patterns.end(), same->patterns.begin(), same->patterns.end());
        return false;
      });
    }
    return holds;
  }
  std::vector<Hold> operator()(const SubjectIs& named) const {
    const auto& is = *named.subject;
    std::vector<Hold> holds;
    const auto add = [&](Handle::Of of, const auto& values, auto word) {
      if (values.empty()) return;
      Hold hold{{of}, {}, {}};
      for (const auto& value : values) hold.words.emplace_back(word(value));
      holds.push_back(std::move(hold));
    };
    const auto same = [](const std::string& text) { return text; };
    add(Handle::Of::os_user, is.os_users, same);
    add(Handle::Of::uid, is.uids, spell);
    add(Handle::Of::client, is.clients, same);
    add(Handle::Of::transport, is.transports, [](Transport transport) { return spelling(transport); });
    return holds;
  }
  std::vector<Hold> operator()(const WordIs& is) const {
    return {Hold{{Handle::Of::word, is.fact}, is.words, {}}};
  }
  std::vector<Hold> operator()(const PathLike& like) const {
    Hold hold{{Handle::Of::path, like.fact}, {}, {}};
    for (const auto& pattern : like.patterns) hold.patterns.push_back(&pattern);
    return {std::move(hold)};
  }
  // Nothing to look up, and what `not` turns round is no requirement.
  std::vector<Hold> operator()(const NotThis&) const { return {}; }
  std::vector<Hold> operator()(const SettingIs&) const { return {}; }
  std::vector<Hold> operator()(const TextLike&) const { return {}; }
  std::vector<Hold> operator()(const NumberIs&) const { return {}; }
  std::vector<Hold> operator()(const LabelsHave&) const { return {}; }
  std::vector<Hold> operator()(const AddressIn&) const { return {}; }
  std::vector<Hold> operator()(const TextMatches&) const { return {}; }
};

std::vector<Hold> holds_of(const Condition& condition) { return std::visit(Requirements{}, condition.is); }

// How many rules stand below each word and pattern, so that a rule is put where it has few neighbours.
class Crowds final {
 public:
  void count(const Hold& hold) {
    for (const auto& word : hold.words) ++counts_[key(hold.handle, word)];
    for (const auto* pattern : hold.patterns) ++counts_[key(hold.handle, pattern->text())];
  }
  std::size_t neighbours(const Hold& hold, std::size_t members) const {
    std::size_t sum = 0;
    const auto of = [&](std::string_view text) {
      const auto at = counts_.find(key(hold.handle, text));
      return at == counts_.end() ? 0 : at->second;
    };
    for (const auto& word : hold.words) sum += of(word);
    for (const auto* pattern : hold.patterns) sum += says_something(*pattern) ? of(pattern->text()) : members;
    return sum;
  }

 private:
  // A collision of hashes costs a worse place, nothing else.
  static std::size_t key(const Handle& handle, std::string_view text) {
    return std::hash<std::string_view>()(text) * 31 + static_cast<std::size_t>(handle.of) * kFacts +
           static_cast<std::size_t>(handle.fact);
  }
  static bool says_something(const PathPattern& pattern) {
    return pattern.text().find_first_not_of("*?/") != std::string::npos;
  }
  std::unordered_map<std::size_t, std::size_t> counts_;
};

struct Digits {
  char text[std::numeric_limits<std::uint32_t>::digits10 + 1];
};

std::string_view spell(std::uint32_t uid, Digits& into) {
  const auto end = std::to_chars(std::begin(into.text), std::end(into.text), uid).ptr;
  return {into.text, static_cast<std::size_t>(end - into.text)};
}

// The word a handle asks for, when it is known.
std::optional<std::string_view> word_of(const Handle& handle, const Question& question, Digits& digits) {
  const auto& who = question.request.who;
  const auto known = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
  };
  switch (handle.of) {
    case Handle::Of::transport:
      return spelling(who.transport);
    case Handle::Of::os_user:
      return known(who.os_user);
    case Handle::Of::client:
      return known(who.client_name);
    case Handle::Of::uid:
      return who.uid ? std::optional(spell(*who.uid, digits)) : std::nullopt;
    case Handle::Of::word: {
      const auto value = value_of(handle.fact, question);
      const auto* word = std::get_if<std::string_view>(&value);
      return word == nullptr ? std::nullopt : std::optional(*word);
    }
    case Handle::Of::path:
      break;
  }
  return std::nullopt;
}

}  // namespace

RuleIndex::RuleIndex(std::span<const Rule> rules, std::span<const std::uint32_t> members) {
  std::vector<std::vector<Hold>> holds;
  holds.reserve(members.size());
  Crowds crowds;
  for (const auto member : members) {
    for (const auto& hold : holds.emplace_back(holds_of(rules[member].when))) crowds.count(hold);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Hold* best = nullptr;
    std::size_t fewest = 0;
    for (const auto& hold : holds[i]) {
      const auto neighbours = crowds.neighbours(hold, members.size());
      if (best != nullptr && neighbours >= fewest) continue;
      best = &hold;
      fewest = neighbours;
    }
    if (best == nullptr) {
      always_.push_back(members[i]);
      continue;
    }
    auto& place = shelf(best->handle);
    place.all.push_back(members[i]);
    for (const auto& word : best->words) place.words[word].push_back(members[i]);
    for (const auto* pattern : best->patterns) place.patterns.add(pattern->components(), members[i]);
  }
}

RuleIndex::Shelf& RuleIndex::shelf(const Handle& handle) {
  const auto known = std::find_if(shelves_.begin(), shelves_.end(),
                                  [&](const Shelf& shelf) { return shelf.handle == handle; });
  if (known != shelves_.end()) return *known;
  return shelves_.emplace_back(Shelf{handle, {}, {}, {}});
}

void RuleIndex::look(const Shelf& shelf, std::string_view word, std::vector<std::uint32_t>& found) {
  const auto at = shelf.words.find(word);
  if (at != shelf.words.end()) found.insert(found.end(), at->second.begin(), at->second.end());
}

void RuleIndex::candidates(const Question& question, Search& search) const {
  auto& found = search.found;
  found.assign(always_.begin(), always_.end());
  for (const auto& shelf : shelves_) {
    if (shelf.handle.of == Handle::Of::path) {
      if (const auto* path = names_of(value_of(shelf.handle.fact, question))) {
        shelf.patterns.find(*path, search.walk, found);
        continue;
      }
    } else {
      Digits digits;
      if (const auto word = word_of(shelf.handle, question, digits)) {
        look(shelf, *word, found);
        continue;
      }
    }
    found.insert(found.end(), shelf.all.begin(), shelf.all.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

}  // namespace policy
