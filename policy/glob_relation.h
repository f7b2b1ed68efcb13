#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/glob.h"

namespace policy {

// How several patterns lie to each other: whether there is a text, or a path, that some of them match and
// others do not. Decided exactly, by walking the texts that all patterns tell apart.
class GlobRelation final {
 public:
  enum class Over { texts, paths };
  enum class End { found, none, too_much };
  using Wanted = std::function<bool(const std::vector<bool>& matched)>;

  explicit GlobRelation(Over over) : over_(over) {}

  // Patterns are numbered in the order they are added.
  void add_word(std::string_view text);
  void add_text(std::string_view pattern);
  void add_path(const PathPattern& pattern, Dotfiles dotfiles);

  // The shortest text that is matched as `wanted`, which is told of each pattern whether it matches. A path
  // is given without its root, and is never one that holds `.` or `..`. `steps` is what the search may take,
  // and is lowered by what it took.
  End find(const Wanted& wanted, std::size_t& steps, std::string& text) const;

 private:
  enum class Takes : std::uint8_t { letter, any, name, name_without_dot };
  struct Edge {
    Takes takes;
    char32_t letter;
    std::uint32_t to;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<std::uint32_t> also;  // states that one is in as well
  };

  std::uint32_t state();
  void edge(std::uint32_t from, Takes takes, std::uint32_t to, char32_t letter = 0);
  void letter(std::uint32_t from, char32_t one, std::uint32_t to) { edge(from, Takes::letter, to, one); }
  void begin(std::uint32_t at) { starts_.push_back(at); }
  void end(std::uint32_t at) { ends_.push_back(at); }
  std::uint32_t component(std::u32string_view name, std::uint32_t from, Dotfiles dotfiles);
  std::u32string close(std::u32string states) const;
  std::u32string alphabet() const;

  Over over_;
  std::vector<State> states_;
  std::vector<std::uint32_t> starts_, ends_;  // of each pattern
};

}  // namespace policy
