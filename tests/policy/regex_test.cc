// Statement 18 of the policy reference: a regular expression that would take too much is refused when it is
// read or answers that it does not know, and what is accepted means what RE2 says and costs a set amount.
#include "policy/regex.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/compile.h"
#include "policy/regex_automaton.h"
#include "policy/regex_syntax.h"
#include "policy/utf8.h"
#include "tests/policy/dice.h"

namespace policy {
namespace {

using Where = Regex::Where;

Tri re2_says(const RE2& pattern, std::string_view text, Where where) {
  const auto anchor = where == Where::whole ? RE2::ANCHOR_BOTH : RE2::UNANCHORED;
  const re2::StringPiece piece(text.data(), text.size());
  return pattern.Match(piece, 0, piece.size(), anchor, nullptr, 0) ? Tri::yes : Tri::no;
}

struct Case {
  std::string_view pattern, text;
  bool whole, anywhere;
};

const std::vector<Case>& cases() {
  using std::literals::operator""sv;
  static const std::vector<Case> all{
      {"abc", "abc", true, true},
      {"abc", "xabcx", false, true},
      {"abc", "ab", false, false},
      {"a|bc", "bc", true, true},
      {"a|bc", "ac", false, true},
      {"(a|)b", "b", true, true},
      {"a*", "", true, true},
      {"a+", "", false, false},
      {"a*?b+?c??", "aabb", true, true},
      {"a{2}", "aa", true, true},
      {"a{2}", "a", false, false},
      {"a{2}", "aaa", false, true},
      {"a{2,}", "aaaa", true, true},
      {"a{2,3}", "aaaa", false, true},
      {"a{0}b", "b", true, true},
      {"a{,2}", "a{,2}", true, true},
      {"a{02}", "a{02}", true, true},
      {"(ab){2,3}", "ababab", true, true},
      {"(?:a(?:b|c)){2}", "abac", true, true},
      {"(?P<name>a)b", "ab", true, true},
      {"^a$", "a", true, true},
      {"^a$", "a\n", false, false},
      {"^a$", "b\na", false, false},
      {"a$b", "ab", false, false},
      {"a^b", "ab", false, false},
      {"(^a|b)c", "xbc", false, true},
      {"(^a|b)c", "xac", false, false},
      {"a($|b)", "xa", false, true},
      {"a($|b)", "ax", false, false},
      {"^$", "", true, true},
      {"$^", "", true, true},
      {"^$", "a", false, false},
      {"^*a", "ba", false, true},
      {"\\Aab\\z", "ab", true, true},
      {".", "\n", false, false},
      {"(?s).", "\n", true, true},
      {"(?s:.).", "\n\n", false, false},
      {".", "\xc3\xa9", true, true},
      {"..", "\xc3\xa9", false, false},
      {".", "\xf0\x9f\x98\x80", true, true},
      {"[^a]", "\xe2\x82\xac", true, true},
      {"[^a]", "\n", true, true},
      {"\xc3\xa9+", "\xc3\xa9\xc3\xa9", true, true},
      {"[\xd0\xb0-\xd1\x8f]+", "\xd1\x8f\xd0\xb0", true, true},
      {"[\xd0\xb0-\xd1\x8f]", "\xd1\x90", false, false},
      {"[\\x{10000}-\\x{10FFFF}]", "\xf4\x8f\xbf\xbf", true, true},
      {"[\\x{10000}-\\x{10FFFF}]", "\xef\xbf\xbf", false, false},
      {"\\x{FFFD}", "\xef\xbf\xbd", true, true},
      {"\\x41\\101\\t\\.\\\\", "AA\t.\\", true, true},
      {"\\Qa.b*\\E+", "a.b**", true, true},
      {"\\Qa.b\\E", "axb", false, false},
      {"\\d\\w\\s\\D\\W\\S", "1_ a-b", true, true},
      {"\\s", "\v", false, false},
      {"[[:space:]]", "\v", true, true},
      {"[[:^alpha:][:digit:]]", "a", false, false},
      {"[]a]+", "]a", true, true},
      {"[^]a]", "]", false, false},
      {"[a-]+", "-a", true, true},
      {"[\\]\\-x]+", "]-x", true, true},
      {"[\\d.]+", "1.2", true, true},
      {"[^\\x00-\\x{10FFFF}]", "a", false, false},
      {"(?i)abc", "aBC", true, true},
      {"(?i)k", "\xe2\x84\xaa", true, true},
      {"(?i)[^s]", "\xc5\xbf", false, false},
      {"(?i)\\W", "\xc5\xbf", false, false},
      {"a(?i)b|c", "C", true, true},
      {"a(?i:b)c", "aBC", false, false},
      {"(?i)a(?-i)b", "Ab", true, true},
      {"\\x00", "\0"sv, true, true},
      {"a", "b\0a"sv, false, true},
  };
  return all;
}

TEST(Statement18Regex, MatchesAsTheTableSaysAndAsRe2Does) {
  for (const auto& [pattern, text, whole, anywhere] : cases()) {
    const RE2 oracle(re2::StringPiece(pattern.data(), pattern.size()));
    for (const auto where : {Where::whole, Where::anywhere}) {
      const auto regex = Regex::parse(pattern, where);
      ASSERT_TRUE(regex) << pattern << ": " << regex.error().message;
      const auto expected = (where == Where::whole ? whole : anywhere) ? Tri::yes : Tri::no;
      EXPECT_EQ(regex->found_in(text), expected) << pattern << " on " << text;
      EXPECT_EQ(re2_says(oracle, text, where), expected) << pattern << " on " << text;
    }
  }
}

TEST(Statement18Regex, WhatIsNoExpressionOrNotSupportedIsRefusedByName) {
  struct Refused {
    std::string_view pattern, says;
  };
  for (const auto& [pattern, says] : std::vector<Refused>{
           {"", "is empty"},
           {"(", "no regular expression: missing"},
           {"a**", "no regular expression: bad repetition operator"},
           {"(?=a)", "no regular expression: invalid perl operator"},
           {"(a)\\1", "no regular expression: invalid escape sequence"},
           {"a{1001}", "no regular expression: invalid repetition size"},
           {"((a{1,30}){1,30}){1,30}", "no regular expression: "},
           {"\xff", "no regular expression: invalid UTF-8"},
           {"\\bword\\b", "`\\b`, which is not supported"},
           {"a\\Bb", "`\\B`, which is not supported"},
           {"\\pL", "`\\p`, which is not supported"},
           {"[\\PN]", "`\\P`, which is not supported"},
           {"\\C", "`\\C`, which is not supported"},
           {"(?m)^a$", "the flag `m`, which is not supported"},
           {"(?i)\xc3\xa9", "letters beyond ASCII under the flag `i`"},
           {"(?i)[a-\xc3\xa9]", "letters beyond ASCII under the flag `i`"},
           {"a(?i)*", "a repetition of what is no part of the text"},
       }) {
    const auto regex = Regex::parse(pattern, Where::anywhere);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_EQ(regex.error().code, "policy.pattern");
    EXPECT_NE(regex.error().message.find(says), std::string::npos) << regex.error().message;
  }
  EXPECT_TRUE(Regex::parse(std::string(Regex::kMaxPattern, 'a'), Where::whole));
  EXPECT_FALSE(Regex::parse(std::string(Regex::kMaxPattern + 1, 'a'), Where::whole));
}

TEST(Statement18Regex, ATextThatIsTooLongOrNoUtf8IsNotKnown) {
  const auto regex = Regex::parse("a", Where::anywhere);
  ASSERT_TRUE(regex);
  EXPECT_EQ(regex->found_in(std::string(Regex::kMaxText, 'a')), Tri::yes);
  EXPECT_EQ(regex->found_in(std::string(Regex::kMaxText + 1, 'a')), Tri::unknown);
  for (const std::string text :
       {"\x80", "a\xff", "\xc0\xaf", "\xc3", "a\xe2\x82", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xc3(", "\xc3\xc3\xa9"}) {
    EXPECT_EQ(regex->found_in(text), Tri::unknown);
    EXPECT_EQ(regex->found_in("a" + text + "a"), Tri::unknown);
  }
}

// Every code point is read as what it is, and only in its one spelling.
TEST(Statement18Regex, TellsAllCodePointsApart) {
  const auto regex = Regex::parse(
      "[a\\x{7f}-\\x{80}\\x{7ff}-\\x{801}\\x{d7ff}\\x{e000}\\x{fffe}-\\x{10001}\\x{fffff}\\x{10ffff}]",
      Where::whole);
  ASSERT_TRUE(regex) << regex.error().message;
  const auto among = [](char32_t c) {
    return c == 'a' || (c >= 0x7F && c <= 0x80) || (c >= 0x7FF && c <= 0x801) || c == 0xD7FF || c == 0xE000 ||
           (c >= 0xFFFE && c <= 0x10001) || c == 0xFFFFF || c == 0x10FFFF;
  };
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    ASSERT_EQ(regex->found_in(text), among(c) ? Tri::yes : Tri::no) << static_cast<unsigned>(c);
  }
}

// Patterns that random texts match now and then, of all that is supported.
class Patterns {
 public:
  explicit Patterns(Dice& dice) : dice_(dice) {}

  std::string pattern(std::size_t depth) {
    std::string all;
    for (auto n = 1 + dice_.below(3); n > 0; --n) {
      all += part(depth);
      if (dice_.chance(35)) all += dice_.one(repeats_);
    }
    if (dice_.chance(20)) all += "|" + (depth > 0 ? pattern(depth - 1) : part(0));
    return all;
  }

  std::string text() {
    std::string all;
    for (auto n = dice_.below(9); n > 0; --n) all += dice_.one(letters_);
    return all;
  }

 private:
  std::string part(std::size_t depth) {
    if (depth > 0 && dice_.chance(35)) return dice_.one(groups_) + pattern(depth - 1) + ")";
    if (dice_.chance(20)) return set();
    return dice_.one(parts_);
  }
  std::string set() {
    std::string all = dice_.chance(30) ? "[^" : "[";
    for (auto n = 1 + dice_.below(3); n > 0; --n) all += dice_.one(members_);
    return all + "]";
  }

  Dice& dice_;
  std::vector<std::string> letters_{"a",
                                    "b",
                                    "A",
                                    "B",
                                    "k",
                                    "S",
                                    "1",
                                    "_",
                                    "\n",
                                    " ",
                                    "-",
                                    "]",
                                    "\\",
                                    "E",
                                    "\xc3\xa9",
                                    "\xe2\x84\xaa",
                                    "\xf0\x9f\x98\x80",
                                    "\xc5\xbf"};
  std::vector<std::string> parts_{"a",        "b",         "A",     "k",        "s",
                                  "1",        ".",         "\\w",   "\\d",      "\\s",
                                  "\\W",      "\\D",       "\\S",   "^",        "$",
                                  "\\A",      "\\z",       "\\n",   "\\x61",    "\\x{e9}",
                                  "\\.",      "\\-",       "\\101", "\xc3\xa9", "\xf0\x9f\x98\x80",
                                  "ab",       "(?i)",      "(?s)",  "(?-i)",    "(?i:k|s)",
                                  "\\Qa.\\E", "\\Qa\\\\E", "{",     "{,2}",     "]",
                                  "}",        "(?U)",      "()",    "(?:)"};
  std::vector<std::string> repeats_{"*",   "+",   "?",     "*?",   "+?",     "??",
                                    "{2}", "{0}", "{1,2}", "{2,}", "{0,1}?", "{01}"};
  std::vector<std::string> groups_{"(", "(?:", "(?i:", "(?s:", "(?-s:", "(?P<n>"};
  std::vector<std::string> members_{"a",
                                    "b",
                                    "A-B",
                                    "a-k",
                                    "0-9",
                                    "_",
                                    "\\d",
                                    "\\w",
                                    "\\W",
                                    "\\s",
                                    "\\S",
                                    "[:alpha:]",
                                    "[:^upper:]",
                                    "[:punct:]",
                                    "\xc3\xa9",
                                    "\xc2\x80-\xc3\xbf",
                                    "\\x{80}-\\x{10ffff}",
                                    "\\n",
                                    "\\]",
                                    "k",
                                    "s-t",
                                    "^",
                                    "-"};
};

TEST(Statement18Regex, AgreesWithRe2OnRandomPatternsAndTexts) {
  Dice dice(18);
  Patterns random(dice);
  RE2::Options options;
  options.set_log_errors(false);
  std::size_t pairs = 0, matched = 0, unsupported = 0, patterns = 0;
  while (pairs < 40'000) {
    const auto pattern = random.pattern(3);
    const RE2 oracle(pattern, options);
    const auto where = dice.chance(50) ? Where::whole : Where::anywhere;
    const auto regex = Regex::parse(pattern, where);
    ++patterns;
    if (!oracle.ok()) {
      EXPECT_FALSE(regex) << pattern;
      continue;
    }
    if (!regex) {
      ++unsupported;
      continue;
    }
    for (int i = 0; i < 10; ++i, ++pairs) {
      const auto text = random.text();
      const auto expected = re2_says(oracle, text, where);
      matched += expected == Tri::yes ? 1 : 0;
      ASSERT_EQ(regex->found_in(text), expected)
          << pattern << " on `" << text << "` " << (where == Where::whole ? "whole" : "anywhere");
    }
  }
  // The comparison is about something.
  EXPECT_GT(matched, pairs / 10);
  EXPECT_LT(matched, pairs * 9 / 10);
  EXPECT_LT(unsupported, patterns / 2);
}

// Each took RE2 10 to 600 ms on a text of 4 KiB, or would make a large automaton.
constexpr std::string_view kHostile[] = {
    "[ab]*a[ab]{200}c",
    "(a|b)*a(a|b){12}",
    ".*a.{100}b.{100}c",
    "(\\w{1,20}\\s?){1,20}z",
    "(.{0,20}x){10}",
    "(?:a.{0,50}){8}b",
    "((a|b)?(c|d)?){100}",
    "(a?){500}a{500}",
    "(a|aa|aaa|aaaa){100}",
    "((((a{1,5}){1,5}){1,5}){1,5}){1,1}",
    "(((a+)+)+)+b",
    "(x+x+)+y",
    "(a*)*(a*)*(a*)*b",
    ".{1000}",
    "(.|\\s|[^a]|\\S|\\w){150}q",
    "(?:(?:(?:){10}){10}){10}",
    "(?:(?:a?){30}){30}(?:b?a?){40}",
    "[^\\x{100}-\\x{200}]{200}[\\x{1000}\\x{1100}\\x{1200}\\x{1300}]{100}",
    "([a-z]{3,}.{0,20}[0-9]{4}.{0,20}key){2}",
    "\\w{1,300}@\\w{1,300}",
};

TEST(Statement18Regex, AHostilePatternIsRefusedOrMatchedAndMakingItIsBounded) {
  std::string text;
  Dice dice(4);
  while (text.size() < Regex::kMaxText) text += dice.one(std::vector<char>{'a', 'b', 'c', 'x', ' ', '1'});
  std::size_t refused = 0, accepted = 0;
  for (const auto pattern : kHostile) {
    for (const auto where : {Where::whole, Where::anywhere}) {
      const auto regex = Regex::parse(pattern, where);
      if (!regex) {
        ++refused;
        const auto& message = regex.error().message;
        EXPECT_TRUE(message.find("shorten its repetitions") != std::string::npos)
            << pattern << ": " << message;
        continue;
      }
      ++accepted;
      EXPECT_LT(regex->steps(), Regex::kMaxSteps) << pattern;
      EXPECT_LE(regex->states(), RegexAutomaton::kMaxStates) << pattern;
      EXPECT_LE(regex->cells(), RegexAutomaton::kMaxCells) << pattern;
      EXPECT_EQ(regex->found_in(text),
                re2_says(RE2(re2::StringPiece(pattern.data(), pattern.size())), text, where))
          << pattern;
    }
  }
  EXPECT_GE(refused, 10U);
  EXPECT_GE(accepted, 10U);
}

// Half of the patterns need more than there is, at one stage or another; none goes on when there is none
// left.
TEST(Statement18Regex, MakingOneEndsWithItsSteps) {
  for (const auto pattern : kHostile) {
    const auto tree = read_regex(pattern);
    ASSERT_TRUE(tree) << pattern;
    for (const std::size_t limit : {10UL, 100UL, 1'000UL, 10'000UL, 100'000UL, Regex::kMaxSteps}) {
      Steps steps(limit);
      const auto places = places_of(*tree, steps);
      const auto made = places ? RegexAutomaton::make(*places, Search::anywhere, steps)
                               : Result<RegexAutomaton>(tl::unexpected(places.error()));
      EXPECT_TRUE(made || !made.error().message.empty());
      if (made) {
        EXPECT_GT(steps.left(), 0U) << pattern;
        EXPECT_LE(made->states(), limit) << pattern;
      }
    }
  }
}

TEST(Statement18Regex, WhatSecretsLookLikeIsAccepted) {
  for (const auto* pattern :
       {"AKIA[0-9A-Z]{16}", "gh[pousr]_[A-Za-z0-9]{36}", "xox[baprs]-[0-9a-zA-Z-]{10,48}",
        "eyJ[A-Za-z0-9_-]{100,}\\.eyJ", "sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}",
        "-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----", "(?i)authorization:\\s*bearer\\s+[a-z0-9._-]{20,}",
        "(?i)(password|passwd|pwd)\\s*[=:]\\s*\\S{8,64}", "(\\d{1,3}\\.){3}\\d{1,3}",
        "[\\w.+-]{1,64}@[\\w-]{1,63}(\\.[\\w-]{1,63}){1,5}"}) {
    const auto regex = Regex::parse(pattern, Where::anywhere);
    EXPECT_TRUE(regex) << pattern << ": " << regex.error().message;
  }
}

std::string policy_of(const std::vector<std::string>& expressions) {
  std::string text = "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\nactions:\n";
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    text +=
        "  r" + std::to_string(i) + ": { deny: run, command: { re2_search: \"" + expressions[i] + "\" } }\n";
  }
  return text;
}

Compiled compiled(const std::vector<std::string>& expressions) {
  const std::vector<Source> sources{{"p.yaml", policy_of(expressions), {}}};
  return compile(sources);
}

TEST(Statement18Budget, APolicyHoldsSoManyExpressions) {
  std::vector<std::string> all(RegexBudget::kMaxExpressions, "abc");
  EXPECT_NE(compiled(all).program, nullptr);
  all.insert(all.end(), 3, "abc");
  const auto result = compiled(all);
  EXPECT_EQ(result.program, nullptr);
  ASSERT_EQ(result.diagnostics.size(), 1U);
  EXPECT_EQ(result.diagnostics.front().code, "P0133");
  EXPECT_EQ(result.diagnostics.front().at.line, 6 + static_cast<int>(RegexBudget::kMaxExpressions));
}

// A policy of many expressions that are refused is not read for long either.
TEST(Statement18Budget, WhatIsRefusedCounts) {
  const std::vector<std::string> all(RegexBudget::kMaxExpressions + 3, "[ab]*a[ab]{200}c");
  const auto result = compiled(all);
  EXPECT_EQ(result.program, nullptr);
  ASSERT_EQ(result.diagnostics.size(), RegexBudget::kMaxExpressions + 1);
  EXPECT_EQ(result.diagnostics.front().code, "P0122");
  EXPECT_EQ(result.diagnostics.back().code, "P0133");
}

TEST(Statement18Budget, TheirTablesAreOfBoundedSize) {
  const auto regex = Regex::parse("^-[A-Z ]{0,40}PRIVATE KEY-[a-z]{500}", Where::anywhere);
  ASSERT_TRUE(regex) << regex.error().message;
  RegexBudget budget;
  std::size_t taken = 0;
  while (budget.take_tables(*regex)) ++taken;
  EXPECT_LE(taken * regex->cells(), RegexBudget::kMaxCells);
  EXPECT_GT((taken + 1) * regex->cells(), RegexBudget::kMaxCells);
  EXPECT_TRUE(budget.is_spent());
}

}  // namespace
}  // namespace policy
