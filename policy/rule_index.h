#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/pattern_trie.h"
#include "policy/rule.h"

namespace policy {

// What rules are found by: one thing that is known of who asks, or one fact.
struct Handle {
  enum class Of : std::uint8_t { transport, os_user, uid, client, word, path } of;
  Fact fact{};  // of `word` and `path`
  bool operator==(const Handle&) const = default;
};

// Which rules of a set may have anything to say on a question, without asking each of them. Every rule stands
// below one thing it certainly requires, the one that tells it best from the others; a rule that requires
// nothing of the kind is always asked.
//
// INVARIANT: a rule that is not among the candidates answers no, whatever its effect
// (PolicyIndex.LeavesOutOnlyRulesThatAnswerNo). A fact that is not known therefore makes every rule that
// stands below it a candidate. If this were wrong, a deny rule could be passed over.
class RuleIndex final {
 public:
  // Buffers of a search. Kept from one to the next, they make it allocate nothing.
  struct Search {
    std::vector<std::uint32_t> found;  // the answer: indexes into the rules, sorted, each once
    PatternTrie::Walk walk;
  };

  // `members` are indexes into `rules`, sorted; the index holds no reference to either.
  RuleIndex(std::span<const Rule> rules, std::span<const std::uint32_t> members);

  void candidates(const Question&, Search&) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Shelf {
    Handle handle;
    std::vector<std::uint32_t> all;  // for when what the handle asks is not known
    std::unordered_map<std::string, std::vector<std::uint32_t>, Hash, std::equal_to<>> words;
    PatternTrie patterns;
  };

  Shelf& shelf(const Handle&);
  static void look(const Shelf&, std::string_view word, std::vector<std::uint32_t>& found);

  std::vector<std::uint32_t> always_;
  std::vector<Shelf> shelves_;
};

}  // namespace policy
