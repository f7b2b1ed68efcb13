#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace policy {

// Where something stands in a text. Both count from 1; columns count characters, not bytes.
struct Position {
  int line = 1;
  int column = 1;
  auto operator<=>(const Position&) const = default;
};

enum class Severity { error, warning };

// One finding about a file. `code` never changes its meaning: Y… is the YAML, S… a value, P… the policy.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;
  std::string file;
  Position at;
  std::string message;
  bool operator==(const Diagnostic&) const = default;

  // `org.yaml:58:5`
  std::string where() const;
  // `org.yaml:58:5: error[P0107]: unknown key …`
  std::string format() const;
  // The same, with the line of `text` it is about and a mark below it.
  std::string format(std::string_view text) const;
};

// Collects the findings of one or several files, at most kMax of them; what comes after is counted only.
class Diagnostics final {
 public:
  static constexpr std::size_t kMax = 200;

  void error(std::string code, std::string_view file, Position at, std::string message);
  void warning(std::string code, std::string_view file, Position at, std::string message);

  bool has_errors() const { return errors_ > 0; }
  std::size_t errors() const { return errors_; }
  // Sorted by file and position.
  std::vector<Diagnostic> take();

 private:
  void add(Diagnostic);
  std::vector<Diagnostic> found_;
  std::size_t errors_ = 0;
};

// Puts `more` among findings, and all of them in the order of take().
void join(std::vector<Diagnostic>& findings, std::vector<Diagnostic> more);

// `; did you mean `x`?` for the candidate nearest to `word`, when one is at edit distance 1 or 2 and nearer
// than a word made up of other letters; else nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace policy
