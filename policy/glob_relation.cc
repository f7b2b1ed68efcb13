#include "policy/glob_relation.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "policy/utf8.h"

namespace policy {
namespace {

constexpr std::string_view kAnyDepth = "**";

std::u32string characters(std::string_view text) {
  std::u32string all;
  while (!text.empty()) {
    const auto point = take_code_point(text);
    if (!point) break;
    all.push_back(*point);
  }
  return all;
}

// What of a path has been read: names are never empty, `.` or `..`, and each ends with a `/` here.
enum class Read : char32_t { between, dot, two_dots, name };

std::optional<Read> read(Read before, char32_t next) {
  if (next == U'/') return before == Read::name ? std::optional(Read::between) : std::nullopt;
  if (next != U'.' || before == Read::two_dots || before == Read::name) return Read::name;
  return before == Read::between ? Read::dot : Read::two_dots;
}

// A place of the walk: the states the patterns are in, and how it was reached.
struct Place {
  std::u32string states;  // sorted; the last is what was read of a path
  std::size_t from;
  char32_t by;
};

std::string spelt(const std::vector<Place>& places, std::size_t at) {
  std::u32string back;
  for (; at != 0; at = places[at].from) back.push_back(places[at].by);
  std::string text;
  for (auto c = back.rbegin(); c != back.rend(); ++c) append_utf8(*c, text);
  return text;
}

}  // namespace

std::uint32_t GlobRelation::state() {
  states_.emplace_back();
  return static_cast<std::uint32_t>(states_.size() - 1);
}

void GlobRelation::edge(std::uint32_t from, Takes takes, std::uint32_t to, char32_t letter) {
  states_[from].edges.push_back({takes, letter, to});
}

void GlobRelation::add_word(std::string_view text) {
  auto at = state();
  begin(at);
  for (const auto c : characters(text)) {
    const auto next = state();
    letter(at, c, next);
    at = next;
  }
  end(at);
}

void GlobRelation::add_text(std::string_view pattern) {
  auto at = state();
  begin(at);
  for (const auto c : characters(pattern)) {
    if (c == U'*') {
      edge(at, Takes::any, at);
      continue;
    }
    const auto next = state();
    if (c == U'?') {
      edge(at, Takes::any, next);
    } else {
      letter(at, c, next);
    }
    at = next;
  }
  end(at);
}

void GlobRelation::add_path(const PathPattern& pattern, Dotfiles dotfiles) {
  auto at = state();
  begin(at);
  const auto first = dotfiles == Dotfiles::only_if_written ? Takes::name_without_dot : Takes::name;
  for (const auto& part : pattern.components()) {
    if (part != kAnyDepth) {
      at = component(characters(part), at, dotfiles);
      continue;
    }
    const auto inside = state();
    edge(at, first, inside);
    edge(inside, Takes::name, inside);
    letter(inside, U'/', at);
    const auto next = state();
    states_[at].also.push_back(next);
    at = next;
  }
  end(at);
}

// Reads one name and the `/` that ends it. The first character of a name is told from the others, for a dot
// there may be none that `*` and `?` stand for.
std::uint32_t GlobRelation::component(std::u32string_view name, std::uint32_t from, Dotfiles dotfiles) {
  const bool guarded = dotfiles == Dotfiles::only_if_written && !name.starts_with(U'.');
  const auto body = state();
  auto at = body;
  bool leading = true;  // nothing but `*` so far: what comes may be the first character
  for (const auto c : name) {
    if (c == U'*') {
      edge(at, Takes::name, at);
      if (leading) edge(from, guarded ? Takes::name_without_dot : Takes::name, at);
      continue;
    }
    const auto next = state();
    if (c == U'?') {
      edge(at, Takes::name, next);
      if (leading) edge(from, guarded ? Takes::name_without_dot : Takes::name, next);
    } else {
      letter(at, c, next);
      if (leading && !(guarded && c == U'.')) letter(from, c, next);
    }
    leading = false;
    at = next;
  }
  const auto after = state();
  letter(at, U'/', after);
  return after;
}

std::u32string GlobRelation::close(std::u32string states) const {
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (const auto also : states_[states[i]].also) states.push_back(also);
  }
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

// Every character that is written, and one that stands for all others.
std::u32string GlobRelation::alphabet() const {
  std::u32string written;
  for (const auto& state : states_) {
    for (const auto& edge : state.edges) {
      if (edge.takes == Takes::letter) written.push_back(edge.letter);
    }
  }
  if (over_ == Over::paths) written += U"./";
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  std::u32string others = U"xyzabcdefghijklmnopqrstuvw0123456789";
  for (char32_t c = 0x4E00; others.size() < written.size() + 40; ++c) others.push_back(c);
  const auto other = std::find_if(others.begin(), others.end(),
                                  [&](char32_t c) { return written.find(c) == std::u32string::npos; });
  written.insert(written.begin(), *other);
  return written;
}

GlobRelation::End GlobRelation::find(const Wanted& wanted, std::size_t& steps, std::string& text) const {
  const auto letters = alphabet();
  std::vector<Place> places;
  std::unordered_map<std::u32string, std::size_t> known;
  const auto reach = [&](std::u32string states, Read read, std::size_t from, char32_t by) {
    states = close(std::move(states));
    states.push_back(static_cast<char32_t>(read));
    if (known.emplace(states, places.size()).second) places.push_back({std::move(states), from, by});
  };
  reach(std::u32string(starts_.begin(), starts_.end()), Read::between, 0, 0);

  std::vector<bool> matched(ends_.size());
  for (std::size_t at = 0; at < places.size(); ++at) {
    auto states = places[at].states;
    const auto before = static_cast<Read>(states.back());
    states.pop_back();
    if (before == Read::between) {
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        matched[i] = std::binary_search(states.begin(), states.end(), static_cast<char32_t>(ends_[i]));
      }
      if (wanted(matched)) {
        text = spelt(places, at);
        if (over_ == Over::paths && !text.empty()) text.pop_back();
        return End::found;
      }
    }
    const auto cost = letters.size() * (states.size() + 1);
    if (cost > steps) return End::too_much;
    steps -= cost;
    for (const auto c : letters) {
      const auto next = over_ == Over::paths ? read(before, c) : std::optional(Read::between);
      if (!next) continue;
      std::u32string there;
      for (const auto state : states) {
        for (const auto& edge : states_[state].edges) {
          const bool takes = edge.takes == Takes::any || (edge.takes == Takes::letter && edge.letter == c) ||
                             (edge.takes == Takes::name && c != U'/') ||
                             (edge.takes == Takes::name_without_dot && c != U'/' && c != U'.');
          if (takes) there.push_back(edge.to);
        }
      }
      reach(std::move(there), *next, at, c);
    }
  }
  return End::none;
}

}  // namespace policy
