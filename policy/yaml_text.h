#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"

// The raw text of a YAML file, before a parser sees it.
namespace policy::yaml {

// Turns byte offsets into positions. The text outlives it.
class Lines final {
 public:
  explicit Lines(std::string_view text);
  // Offsets beyond the end are the end. Counts on from the offset asked before where it can, so that walking
  // through a long line takes time in proportion to its length.
  Position at(std::size_t offset);

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
  std::size_t counted_ = 0;     // an offset
  std::size_t characters_ = 0;  // from the beginning of its line up to there
};

// Why a character may not stand in a file or come out of an escape: control characters, those that change
// the direction of writing, invisible ones, line ends other than LF and CR LF. Nothing when it may.
std::optional<std::string_view> forbidden(char32_t code_point);

// Checks size, encoding, characters, indentation and directives. False when a parser must not see the text.
bool check_text(std::string_view text, Lines& lines, std::string_view file, Diagnostics& into);

}  // namespace policy::yaml
