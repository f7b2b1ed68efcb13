// The layout of policy files: what is canonical, and that nothing but white space ever changes.
#include "policy/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "policy/yaml.h"
#include "policy/yaml_flow.h"

namespace policy {
namespace {

std::string laid(std::string_view text) {
  Diagnostics found;
  const auto out = layout(text, "t.yaml", found);
  for (const auto& one : found.take()) ADD_FAILURE() << one.format(text);
  return out.value_or("");
}

// The tree on one line, without positions.
std::string meaning(std::string_view text) {
  Diagnostics found;
  const auto root = yaml::read(text, "t", found);
  return root ? yaml::flow(*root) : "";
}

struct Row {
  const char* name;
  const char* from;
  const char* to;
};

TEST(PolicyLayout, IsCanonical) {
  const Row table[] = {
      {"indentation", "a:\n     b:\n         c: 1\n     d: 2\n", "a:\n  b:\n    c: 1\n  d: 2\n"},
      {"blanks after colons", "a:    1\nb:   x\n", "a: 1\nb: x\n"},
      {"braces and brackets", "a: {b: 1,c:   [x,v ,  z ]}\nd: {}\ne: [ ]\n",
       "a: { b: 1, c: [x, v, z] }\nd: {}\ne: []\n"},
      {"lists at their key's place", "a:\n- x\n- z\nb: 1\n", "a:\n  - x\n  - z\nb: 1\n"},
      {"maps in lists", "t:\n    -   call: run\n        expect: deny\n    - {call: x}\n",
       "t:\n  - call: run\n    expect: deny\n  - { call: x }\n"},
      {"empty lines and the end", "\n\na: 1\n\n\n\nb: 2  \n\n\n", "a: 1\n\nb: 2\n"},
      {"no line end", "a: 1", "a: 1\n"},
      {"carriage returns", "a: 1\r\nb: 2\r\n", "a: 1\nb: 2\n"},
      {"comments stay", "# head\n\na:   # of a\n    # of b\n    b: 1   # at b\n# tail\n",
       "# head\n\na:   # of a\n  # of b\n  b: 1   # at b\n# tail\n"},
      {"text in quotes", "a: \"x,  y: {  z\"   \nb: 'it''s  [a,b]'\n",
       "a: \"x,  y: {  z\"\nb: 'it''s  [a,b]'\n"},
      {"words with marks in them", "a: x,y  z[1]  {b\nc: transfer:src/**\n",
       "a: x,y  z[1]  {b\nc: transfer:src/**\n"},
      {"text in blocks",
       "a:\n      hint: |-\n          one\n            two\n\n          three\n      b: 1\n",
       "a:\n  hint: |-\n    one\n      two\n\n    three\n  b: 1\n"},
      {"flow over lines", "a:\n    b: {c: 1,\n          d: 2 }\n    e: 3\n",
       "a:\n  b: { c: 1,\n        d: 2 }\n  e: 3\n"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(laid(row.from), row.to) << row.name;
    EXPECT_EQ(laid(row.to), row.to) << row.name;
    EXPECT_EQ(meaning(row.from), meaning(row.to)) << row.name;
  }
}

TEST(PolicyLayout, RefusesWhatIsNoPolicyText) {
  Diagnostics found;
  EXPECT_FALSE(layout("a: 1\na: 2\n", "t", found));
  EXPECT_TRUE(found.has_errors());
}

TEST(PolicyLayout, LeavesTheShippedPoliciesAsTheyAre) {
  for (const auto* name :
       {"default.yaml", "locked-down.yaml", "read-only.yaml", "ci.yaml", "outbound-quarantine.yaml"}) {
    std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/policies/" + name, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(laid(text), text) << name;
  }
}

// Shipped policies with their white space shaken: idempotent, of the same meaning, and no other byte lost.
TEST(PolicyLayout, KeepsMeaningAndIsIdempotentOnShakenFiles) {
  std::mt19937 dice(7);
  int changed = 0;
  for (const auto* name :
       {"default.yaml", "locked-down.yaml", "read-only.yaml", "ci.yaml", "outbound-quarantine.yaml"}) {
    std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/policies/" + name, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (int round = 0; round < 200; ++round) {
      std::string shaken;
      bool indenting = true;
      const std::size_t wider = 1 + dice() % 3;
      for (const char c : text) {
        indenting = c == '\n' || (indenting && c == ' ');
        shaken.append(indenting && c == ' ' ? wider : 1, c);
        const bool blank = !indenting && (c == ' ' || c == ',');
        if (blank && dice() % 40 == 0) shaken.append(1 + dice() % 3, ' ');
        if (c == '\n' && dice() % 20 == 0) shaken.append(1 + dice() % 2, '\n');
      }
      Diagnostics found;
      const auto once = layout(shaken, "t", found);
      if (!once) continue;  // shaken until it was no YAML
      Diagnostics again;
      const auto twice = layout(*once, "t", again);
      ASSERT_TRUE(twice);
      ASSERT_EQ(*once, *twice) << shaken;
      ASSERT_EQ(meaning(shaken), meaning(*once)) << shaken;
      ASSERT_EQ(std::count(shaken.begin(), shaken.end(), '#'), std::count(once->begin(), once->end(), '#'));
      changed += *once != shaken ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace policy
