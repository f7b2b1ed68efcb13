#include "policy/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace policy {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const auto slash = path.find('/');
    components.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return components;
}

struct Case {
  const char* pattern;
  const char* path;
  bool refusing;  // matches in a rule that denies or asks
  bool allowing;  // matches in a rule that allows
};

TEST(Statement16Globs, MatchesAsTheTableSays) {
  const Case table[] = {
      {"**", "", true, true},
      {"**", "a/b", true, true},
      {"**", ".env", true, false},
      {"**", "a/.git/config", true, false},
      {"*", "a", true, true},
      {"*", "a/b", false, false},
      {"*", ".a", true, false},
      {".*", ".a", true, true},
      {"a/**", "a", false, false},
      {"a/**", "a/b", true, true},
      {"a/**", "a/b/c", true, true},
      {"a/**", "ab/c", false, false},
      {"**/.env", ".env", true, true},
      {"**/.env", "x/y/.env", true, true},
      {"**/.env", "x/.hidden/.env", true, false},
      {"**/.env.*", "web/.env.production", true, true},
      {"**/*.pem", "keys/server.pem", true, true},
      {"**/*.pem", "keys/server.pem.txt", false, false},
      {"**/id_*", "home/id_rsa", true, true},
      {"**/id_*", "home/.id_rsa", false, false},
      {"src/*/test", "src/a/test", true, true},
      {"src/*/test", "src/a/b/test", false, false},
      {"src/**/test", "src/test", true, true},
      {"src/**/test", "src/a/b/test", true, true},
      {"a?c", "abc", true, true},
      {"a?c",
       "a\xC3\xA4"
       "c",
       true, true},
      {"a?c", "a/c", false, false},
      {"?env", ".env", true, false},
      {"Secret", "secret", false, false},
      {"a.b", "aXb", false, false},
  };
  for (const auto& row : table) {
    const auto pattern = PathPattern::parse(row.pattern);
    ASSERT_TRUE(pattern) << row.pattern;
    EXPECT_EQ(pattern->matches(split(row.path), Dotfiles::included), row.refusing)
        << row.pattern << " " << row.path;
    EXPECT_EQ(pattern->matches(split(row.path), Dotfiles::only_if_written), row.allowing)
        << row.pattern << " " << row.path;
  }
}

TEST(Statement16Globs, RefusesWhatCouldBeMeantOtherwise) {
  for (const auto* bad : {"", "a//b", "a/", "../a", "a/./b", "a**", "**b", "[ab]", "{a,b}", "a\\b", "!a"}) {
    const auto pattern = PathPattern::parse(bad);
    ASSERT_FALSE(pattern) << bad;
    EXPECT_EQ(pattern.error().code, "policy.pattern");
  }
  EXPECT_FALSE(PathPattern::parse(std::string(PathPattern::kMaxLength + 1, 'a')));
}

// The plain meaning, by trying everything.
bool slow_text(std::string_view p, std::string_view t) {
  if (p.empty()) return t.empty();
  if (p[0] == '*') return slow_text(p.substr(1), t) || (!t.empty() && slow_text(p, t.substr(1)));
  return !t.empty() && (p[0] == '?' || p[0] == t[0]) && slow_text(p.substr(1), t.substr(1));
}
bool slow_path(std::span<const std::string> p, std::span<const std::string> t, Dotfiles dots) {
  if (p.empty()) return t.empty();
  const bool hidden = !t.empty() && t[0].starts_with('.') && dots == Dotfiles::only_if_written;
  if (p[0] == "**") {
    if (p.size() == 1 || slow_path(p.subspan(1), t, dots)) {
      if (p.size() > 1) return true;
    }
    if (t.empty()) return p.size() == 1;
    return !hidden && slow_path(p, t.subspan(1), dots);
  }
  if (t.empty() || (hidden && !p[0].starts_with('.'))) return false;
  return slow_text(p[0], t[0]) && slow_path(p.subspan(1), t.subspan(1), dots);
}

TEST(PathPattern, AgreesWithAMatcherThatTriesEverything) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces{"a", "b", ".x", "*", "?", "**", "*a", ".*", "a*b"};
  const std::vector<std::string> names{"a", "b", ".x", "ab", ".a", "aab"};
  int matched = 0;
  for (int round = 0; round < 40'000; ++round) {
    std::vector<std::string> written, path;
    for (auto n = random() % 5 + 1; n > 0; --n) written.push_back(pieces[random() % pieces.size()]);
    for (auto n = random() % 6; n > 0; --n) path.push_back(names[random() % names.size()]);
    std::string text;
    for (const auto& piece : written) text += (text.empty() ? "" : "/") + piece;
    const auto pattern = PathPattern::parse(text);
    ASSERT_TRUE(pattern) << text;
    // `a/**` is what lies below a.
    if (written.size() > 1 && written.back() == "**") {
      const bool all_deep =
          std::all_of(written.begin(), written.end(), [](const auto& w) { return w == "**"; });
      if (!all_deep) written.insert(written.end() - 1, "*");
    }
    while (written.size() > 3 && written.back() == "**" && written[written.size() - 2] == "*" &&
           written[written.size() - 3] == "**") {
      written.erase(written.end() - 3);
    }
    for (const auto dots : {Dotfiles::included, Dotfiles::only_if_written}) {
      const bool expected = slow_path(written, path, dots);
      matched += expected ? 1 : 0;
      ASSERT_EQ(pattern->matches(path, dots), expected)
          << text << " against " << testing::PrintToString(path);
    }
  }
  EXPECT_GT(matched, 2'000);
}

TEST(PathPattern, TakesNoLongTimeOnHostilePatterns) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += "**/a/";
  text += "b";
  const auto deep = PathPattern::parse(text);
  ASSERT_TRUE(deep);
  const std::vector<std::string> path(2'000, "a");
  std::string stars;
  for (int i = 0; i < 500; ++i) stars += "*a";
  const auto wide = PathPattern::parse(stars + "b");
  ASSERT_TRUE(wide);
  const std::vector<std::string> name{std::string(20'000, 'a')};
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(deep->matches(path, Dotfiles::included));
  EXPECT_FALSE(wide->matches(name, Dotfiles::included));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
}

}  // namespace
}  // namespace policy
