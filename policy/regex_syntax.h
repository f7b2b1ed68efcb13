#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/code_points.h"
#include "policy/result.h"

// The syntax of regular expressions, read into a tree. Which texts are expressions at all is for RE2 to say;
// this reader is given those alone, takes most of them and names what it does not take.
namespace policy {

struct RegexTree {
  enum class Kind : std::uint8_t {
    nothing,      // the empty text
    one_of,       // a code point of `points`
    begin,        // where the text begins
    end,          // where it ends
    sequence,     // `parts`, one after another
    alternative,  // any of `parts`
    repeated,     // the one part, `least` to `most` times
  };
  static constexpr std::uint32_t kNoEnd = ~std::uint32_t{0};
  struct Node {
    Kind kind = Kind::nothing;
    CodePoints points = {};
    std::vector<std::uint32_t> parts = {};
    std::uint32_t least = 0, most = 0;
  };
  std::vector<Node> nodes;  // parts stand before what holds them
  std::uint32_t root = 0;
};

// Code: policy.pattern.
Result<RegexTree> read_regex(std::string_view pattern);

}  // namespace policy
