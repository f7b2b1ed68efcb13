#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace standin {

// Finds, in what comes from the copy port, the line with which the guest's end of one copy begins. Whatever
// stands before it is left from an earlier copy and is dropped, however much that is.
class CopyGreeting final {
 public:
  explicit CopyGreeting(const std::string& token) : mark_("\n" + token) {}

  struct Found {
    std::string words;   // of the line, behind the token
    std::string behind;  // the line: the first bytes of the copy
  };
  // Nothing as long as the line is not complete.
  std::optional<Found> feed(std::string_view piece);

 private:
  std::string mark_;
  std::string kept_;
};

}  // namespace standin
