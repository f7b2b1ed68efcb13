// Each rule that refuses is taken out of the shipped policies, which allow all else here: a call is shown
// that becomes possible, and that this rule refused.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "policy/difference.h"

namespace policy {
namespace {

std::string shipped(const std::string& name) {
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/policies/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<const Anatomy> anatomy(std::string text) {
  const std::vector<Source> sources{{"p.yaml", std::move(text), {}}};
  return study(sources).anatomy;
}

// Without the lines of the rule that begins on a line: those that are indented further.
std::string without(const std::string& text, int line) {
  std::size_t from = 0;
  while (--line > 0) from = text.find('\n', from) + 1;
  auto to = text.find('\n', from) + 1;
  while (text.compare(to, 4, "    ") == 0) to = text.find('\n', to) + 1;
  return text.substr(0, from) + text.substr(to);
}

TEST(Statement12Diff, EachRefusalLessHasAWitness) {
  int wider = 0;
  for (const auto* name : {"default.yaml", "locked-down.yaml", "read-only.yaml"}) {
    auto text = shipped(name);
    // What it promises of itself no longer holds then, and is not what is looked at.
    text = text.substr(0, text.find("\ntests:") + 1);
    const std::string section = "\nactions:\n";
    text.insert(text.find(section) + section.size(), "  everything: { allow: any }\n");
    const auto before = anatomy(text);
    ASSERT_TRUE(before) << name;
    for (const auto& placed : before->tiers.at(Tier::user).rules) {
      const auto& rule = placed.parsed.rule;
      if (rule.effect == Effect::allow) continue;
      SCOPED_TRACE(name + std::string(": ") + rule.ref.id);
      const auto after = anatomy(without(text, placed.parsed.at.line));
      ASSERT_TRUE(after);
      ASSERT_EQ(after->rule(rule.ref), nullptr);
      const auto found = difference(*before, *after);
      EXPECT_TRUE(found.widens());
      EXPECT_FALSE(found.search.found.empty());
      for (const auto& witness : found.search.found) {
        EXPECT_EQ(witness.was_by.id, rule.ref.id);
        EXPECT_LT(witness.is, witness.was) << witness.statement;
      }
      ++wider;
    }
  }
  EXPECT_GE(wider, 6);
}

}  // namespace
}  // namespace policy
