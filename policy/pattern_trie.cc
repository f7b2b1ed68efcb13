#include "policy/pattern_trie.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "policy/glob.h"

namespace policy {
namespace {

constexpr std::string_view kWild = "*?";
// Room for the nodes of most walks.
constexpr std::size_t kNodes = 32;

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

// Spreads the hash of a text over the edges of all nodes. The upper half is the better one.
template <class Kind>
std::uint32_t mixed(std::uint32_t from, Kind kind, std::size_t hash) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  const auto place = (std::uint64_t{from} << 2U | static_cast<std::uint64_t>(kind)) * odd;
  return static_cast<std::uint32_t>(((std::uint64_t{hash} ^ place) * odd) >> 32U);
}

}  // namespace

PatternTrie::PatternTrie() : nodes_(1) {}

std::uint32_t PatternTrie::node() {
  nodes_.emplace_back();
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void PatternTrie::add(std::span<const std::string> pattern, Value value) {
  std::uint32_t at = 0;
  for (const auto& component : pattern) at = follow(at, component);
  ends_.push_back({value, nodes_[at].values});
  nodes_[at].values = static_cast<Index>(ends_.size());
}

std::uint32_t PatternTrie::follow(std::uint32_t from, std::string_view component) {
  const auto child = [&](Index Node::* which) {
    if (nodes_[from].*which == 0) {
      const auto made = node();
      nodes_[from].*which = made;
    }
    return nodes_[from].*which;
  };
  if (component == "*") return child(&Node::star);
  if (component == "**") {
    const auto depth = child(&Node::depth);
    nodes_[depth].any_depth = true;
    return depth;
  }
  if (component.find_first_of(kWild) == std::string_view::npos) {
    nodes_[from].literals = true;
    return edge(from, Kind::literal, component);
  }

  const auto prefix = component.substr(0, component.find_first_of(kWild));
  const auto suffix = component.substr(component.find_last_of(kWild) + 1);
  if (prefix.empty() && suffix.empty()) return follow_wildcard(from, component);
  const auto kind = prefix.empty() ? Kind::suffix : Kind::prefix;
  const auto affix = prefix.empty() ? suffix : prefix;
  const auto length = static_cast<std::uint32_t>(affix.size());
  Index known = nodes_[from].affixes;
  while (known != 0 && (affixes_[known - 1].kind != kind || affixes_[known - 1].length != length)) {
    known = affixes_[known - 1].next;
  }
  if (known == 0) {
    affixes_.push_back({kind, length, nodes_[from].affixes});
    nodes_[from].affixes = static_cast<Index>(affixes_.size());
  }
  return follow_wildcard(edge(from, kind, affix), component);
}

std::uint32_t PatternTrie::follow_wildcard(std::uint32_t from, std::string_view component) {
  const auto edges = edges_.size();
  const auto to = edge(from, Kind::wildcard, component);
  if (edges_.size() != edges) {
    wildcards_.push_back({static_cast<Index>(edges_.size()), nodes_[from].wildcards});
    nodes_[from].wildcards = static_cast<Index>(wildcards_.size());
  }
  return to;
}

std::uint32_t PatternTrie::edge(std::uint32_t from, Kind kind, std::string_view component) {
  const auto hash = hash_of(component);
  if (const auto known = look_up(from, kind, component, hash); known != 0) return known;
  if (slots_.size() < 2 * (edges_.size() + 1)) grow();
  const auto to = node();
  edges_.push_back({from, kind, to, static_cast<std::uint32_t>(texts_.size()),
                    static_cast<std::uint32_t>(component.size())});
  texts_ += component;
  const auto mask = slots_.size() - 1;
  const auto key = mixed(from, kind, hash);
  auto slot = key & mask;
  while (slots_[slot].edge != 0) slot = (slot + 1) & mask;
  slots_[slot] = {key, static_cast<Index>(edges_.size())};
  return to;
}

void PatternTrie::grow() {
  const auto before = std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(8, 2 * slots_.size())));
  const auto mask = slots_.size() - 1;
  for (const auto& moved : before) {
    if (moved.edge == 0) continue;
    auto slot = moved.hash & mask;
    while (slots_[slot].edge != 0) slot = (slot + 1) & mask;
    slots_[slot] = moved;
  }
}

std::uint32_t PatternTrie::look_up(std::uint32_t from, Kind kind, std::string_view component,
                                   std::size_t hash) const {
  if (slots_.empty()) return 0;
  const auto mask = slots_.size() - 1;
  const auto key = mixed(from, kind, hash);
  for (auto slot = key & mask; slots_[slot].edge != 0; slot = (slot + 1) & mask) {
    if (slots_[slot].hash != key) continue;
    const auto& found = edges_[slots_[slot].edge - 1];
    if (found.from == from && found.kind == kind && text(found) == component) return found.to;
  }
  return 0;
}

// A `**` may also stand for nothing.
void PatternTrie::enter(std::uint32_t node, std::vector<std::uint32_t>& nodes) const {
  nodes.push_back(node);
  if (nodes_[node].depth != 0) enter(nodes_[node].depth, nodes);
}

void PatternTrie::try_wildcards(std::uint32_t from, std::string_view component,
                                std::vector<std::uint32_t>& nodes) const {
  for (auto at = nodes_[from].wildcards; at != 0; at = wildcards_[at - 1].next) {
    const auto& wildcard = edges_[wildcards_[at - 1].edge - 1];
    if (text_matches(text(wildcard), component)) enter(wildcard.to, nodes);
  }
}

void PatternTrie::step(std::uint32_t from, std::string_view component, std::size_t hash,
                       std::vector<std::uint32_t>& nodes) const {
  const auto& node = nodes_[from];
  if (node.any_depth) nodes.push_back(from);
  if (node.literals) {
    if (const auto to = look_up(from, Kind::literal, component, hash); to != 0) enter(to, nodes);
  }
  if (node.star != 0) enter(node.star, nodes);
  try_wildcards(from, component, nodes);
  for (auto at = node.affixes; at != 0; at = affixes_[at - 1].next) {
    const auto& affix = affixes_[at - 1];
    if (component.size() < affix.length) continue;
    const auto part = affix.kind == Kind::prefix ? component.substr(0, affix.length)
                                                 : component.substr(component.size() - affix.length);
    if (const auto holder = look_up(from, affix.kind, part, hash_of(part)); holder != 0) {
      try_wildcards(holder, component, nodes);
    }
  }
}

void PatternTrie::find(std::span<const std::string> path, Walk& walk, std::vector<Value>& found) const {
  auto &here = walk.here, &next = walk.next;
  here.clear();
  for (auto* nodes : {&here, &next}) {
    if (nodes->capacity() == 0) nodes->reserve(kNodes);
  }
  enter(0, here);
  for (const auto& component : path) {
    const auto hash = hash_of(component);
    next.clear();
    for (const auto node : here) step(node, component, hash, next);
    // Several ways to one node are one: without this, patterns with many `**` would take forever.
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    here.swap(next);
    if (here.empty()) return;
  }
  for (const auto node : here) {
    for (auto at = nodes_[node].values; at != 0; at = ends_[at - 1].next)
      found.push_back(ends_[at - 1].value);
  }
}

}  // namespace policy
