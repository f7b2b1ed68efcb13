// Every `yaml` block of docs/policy.md is a policy, or becomes one when the head is put before it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "policy/checks.h"

namespace policy {
namespace {

TEST(Statement09Docs, EveryExampleLoadsAndRaisesNoFalseAlarm) {
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/docs/policy.md", std::ios::binary);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string fence = "```yaml\n";
  int blocks = 0;
  for (auto at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    auto text = page.substr(at, page.find("\n```", at) + 1 - at);
    if (text.find("sallyport:") != 0)
      text = "sallyport: policy/v1\ntier: user\nname: doc\ndefault: deny\n" + text;
    const std::vector<Source> sources{{"policy.md", text, {}}};
    const auto compiled = compile_and_check(sources);
    for (const auto& found : compiled.diagnostics) ADD_FAILURE() << found.format(text);
    ++blocks;
  }
  EXPECT_GE(blocks, 10);
}

}  // namespace
}  // namespace policy
