#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/compile.h"

// Policies that are refused, and where and how that is told.
namespace policy::mistakes {

inline constexpr std::string_view kHead = "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n";

inline Compiled compiled(std::string_view body) {
  const std::vector<Source> sources{{"p.yaml", std::string(kHead) + std::string(body), {}}};
  return compile(sources);
}

struct Mistake {
  const char* name;
  const char* body;
  const char* code;
  Position at;  // lines of the body follow four of the head
  const char* says;
};

// That it leaves no program, and is the first thing told.
inline void expect_told(const Mistake& mistake) {
  const auto result = compiled(mistake.body);
  EXPECT_EQ(result.program, nullptr);
  ASSERT_FALSE(result.diagnostics.empty());
  const auto& found = result.diagnostics.front();
  EXPECT_EQ(found.code, mistake.code) << found.format();
  EXPECT_EQ(found.at, mistake.at) << found.format();
  EXPECT_NE(found.message.find(mistake.says), std::string::npos) << found.format();
}

}  // namespace policy::mistakes
