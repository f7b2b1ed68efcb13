#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace policy {

// Patterns over components, all of them looked up in one walk over the components of a path. What a lookup
// costs depends on the path, not on how many patterns differ from it: components written out, and the
// letters before the first or after the last `*` or `?` of a component, are found by hash; only components
// that begin and end with `*` or `?` are tried one by one.
class PatternTrie final {
 public:
  // What is found by a pattern.
  using Value = std::uint32_t;
  // Buffers of a walk. Kept from one to the next, they make it allocate nothing.
  struct Walk {
    std::vector<std::uint32_t> here, next;
  };

  PatternTrie();
  // Components as PathPattern has them: `**` stands for any number, `*` and `?` stay within one.
  void add(std::span<const std::string> pattern, Value value);
  // Appends the values of all patterns that match, some of them perhaps several times. Names with a leading
  // dot get no special treatment: `*` and `**` match them.
  void find(std::span<const std::string> path, Walk& walk, std::vector<Value>& found) const;

 private:
  using Index = std::uint32_t;  // into one of the vectors, counted from 1 where 0 is none
  enum class Kind : std::uint32_t { literal, prefix, suffix, wildcard };

  struct Node {
    Index star = 0;          // the node behind `*`
    Index depth = 0;         // the node behind `**`, which stays where it is at each component
    Index affixes = 0;       // list: lengths of prefixes and suffixes that components behind it have
    Index wildcards = 0;     // list: components to try one by one
    Index values = 0;        // list: patterns that end here
    bool any_depth = false;  // the node behind a `**`
    bool literals = false;   // whether a component written out leads on
  };
  struct Edge {
    std::uint32_t from;
    Kind kind;
    std::uint32_t to;
    std::uint32_t text, length;  // in `texts_`
  };
  struct Slot {
    std::uint32_t hash = 0;
    Index edge = 0;
  };
  struct Affix {
    Kind kind;
    std::uint32_t length;
    Index next;
  };
  struct Wildcard {
    Index edge;
    Index next;
  };
  struct End {
    Value value;
    Index next;
  };

  std::string_view text(const Edge& of) const { return std::string_view(texts_).substr(of.text, of.length); }
  std::uint32_t node();
  std::uint32_t follow(std::uint32_t from, std::string_view component);
  std::uint32_t follow_wildcard(std::uint32_t from, std::string_view component);
  std::uint32_t edge(std::uint32_t from, Kind kind, std::string_view text);
  void grow();
  // The node at the end of an edge, 0 when there is none: nothing leads to the root.
  std::uint32_t look_up(std::uint32_t from, Kind kind, std::string_view text, std::size_t hash) const;
  void enter(std::uint32_t node, std::vector<std::uint32_t>& nodes) const;
  void step(std::uint32_t from, std::string_view component, std::size_t hash,
            std::vector<std::uint32_t>& nodes) const;
  void try_wildcards(std::uint32_t from, std::string_view component, std::vector<std::uint32_t>& nodes) const;

  std::vector<Node> nodes_;  // the first is the root
  std::vector<Edge> edges_;
  std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
  std::vector<Affix> affixes_;
  std::vector<Wildcard> wildcards_;
  std::vector<End> ends_;
  std::string texts_;
};

}  // namespace policy
