#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"

// A strict subset of YAML: one document of maps, lists and scalars, written so that it means the same to
// every reader. What readers are known to disagree on (repeated keys, anchors, tags, `no`, `010`, …) is an
// error with a position.
namespace policy::yaml {

inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxDepth = 16;  // maps and lists inside one another, the outermost included
inline constexpr std::size_t kMaxNodes = 200'000;

struct Entry;

struct Node {
  enum class Kind { scalar, list, map };
  Kind kind = Kind::scalar;
  bool quoted = false;  // a scalar in quotes or of block form, always text
  Position at;
  std::string text;            // of a scalar
  std::vector<Node> items;     // of a list
  std::vector<Entry> entries;  // of a map, in the order written; no two keys are equal

  const Entry* find(std::string_view key) const;
  bool operator==(const Node&) const;
};

struct Entry {
  std::string key;  // letters, digits, `_`, `-` and `.`
  Position at;      // of the key
  Node value;
  bool operator==(const Entry&) const = default;
};

// Equal but for positions.
bool same(const Node&, const Node&);

// Reads `text`, reporting every finding as about `file`. Nothing when there was an error.
std::optional<Node> read(std::string_view text, std::string_view file, Diagnostics& into);

// Text that read() turns into an equal tree, positions aside. The root must be a map.
std::string write(const Node& root);

}  // namespace policy::yaml
