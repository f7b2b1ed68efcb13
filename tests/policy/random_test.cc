#include "policy/random.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace policy {
namespace {

// Two of a set of 40,000 are equal with a probability of 2^-98.
TEST(Random, NothingIsGivenTwiceNotEvenToTwoThreads) {
  std::vector<std::vector<std::string>> given(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : given) {
      threads.emplace_back([&mine] {
        for (int i = 0; i < 10'000; ++i) mine.push_back(random_hex32());
      });
    }
  }
  std::set<std::string> all;
  for (const auto& mine : given) {
    for (const auto& text : mine) {
      ASSERT_EQ(text.size(), 32U);
      ASSERT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
      all.insert(text);
    }
  }
  EXPECT_EQ(all.size(), 40'000U);
}

TEST(Random, MoreThanTheStoreHoldsIsGivenInFull) {
  std::array<std::uint8_t, 5000> bytes{};
  random_bytes(bytes);
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 16) {
    bool zero = true;
    for (std::size_t i = 0; i < 16; ++i) zero = zero && bytes[at + i] == 0;
    EXPECT_FALSE(zero) << "sixteen bytes from " << at << " were left as they were";
  }
}

}  // namespace
}  // namespace policy
