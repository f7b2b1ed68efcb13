#include "policy/pattern_trie.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/glob.h"
#include "tests/policy/dice.h"

namespace policy {
namespace {

using Found = std::vector<PatternTrie::Value>;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto slash = text.find('/');
    parts.emplace_back(text.substr(0, slash));
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  return parts;
}

Found found(const PatternTrie& trie, std::string_view path) {
  PatternTrie::Walk walk;
  Found values;
  trie.find(split(path), walk, values);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::string component(Dice& dice, std::string_view letters) {
  std::string made;
  for (auto n = 1 + dice.below(4); n > 0; --n) made += letters[dice.below(letters.size())];
  while (made.find("**") != std::string::npos) made.erase(made.find("**"), 1);
  return made == "." || made == ".." ? "a" : made;
}

std::string joined(Dice& dice, std::string_view letters, int any_depth) {
  std::string made;
  for (auto n = 1 + dice.below(5); n > 0; --n) {
    made += (made.empty() ? "" : "/") + (dice.chance(any_depth) ? "**" : component(dice, letters));
  }
  return made;
}

TEST(PolicyPatternTrie, FindsExactlyThePatternsThatMatch) {
  Dice dice(21);
  std::size_t hits = 0;
  for (int round = 0; round < 100; ++round) {
    PatternTrie trie;
    std::vector<PathPattern> patterns;
    for (auto n = 1 + dice.below(60); n > 0; --n) {
      patterns.push_back(*PathPattern::parse(joined(dice, "aab.*?", 25)));
      trie.add(patterns.back().components(), static_cast<PatternTrie::Value>(patterns.size() - 1));
    }
    for (int i = 0; i < 60; ++i) {
      const auto path = dice.chance(3) ? "" : joined(dice, "aab.é", 0);
      Found expected;
      for (std::size_t n = 0; n < patterns.size(); ++n) {
        if (patterns[n].matches(split(path), Dotfiles::included))
          expected.push_back(static_cast<PatternTrie::Value>(n));
      }
      ASSERT_EQ(found(trie, path), expected) << path;
      hits += expected.size();
    }
  }
  EXPECT_GT(hits, 3000U);
}

TEST(PolicyPatternTrie, FindsNothingWhenItIsEmpty) {
  EXPECT_EQ(found(PatternTrie(), ""), Found{});
  EXPECT_EQ(found(PatternTrie(), "a/b"), Found{});
}

// A walk that tried every way through such a pattern would take longer than the universe is old.
TEST(PolicyPatternTrie, TakesNoLongerForManyAnyDepths) {
  PatternTrie trie;
  std::string pattern = "**", path = "a";
  for (int i = 0; i < 60; ++i) pattern += "/a/**";
  for (int i = 0; i < 500; ++i) path += "/a";
  trie.add(PathPattern::parse(pattern + "/b")->components(), 1);
  trie.add(PathPattern::parse(pattern + "/a")->components(), 2);
  EXPECT_EQ(found(trie, path), Found{2});
}

}  // namespace
}  // namespace policy
