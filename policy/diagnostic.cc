#include "policy/diagnostic.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "policy/utf8.h"
#include "policy/wording.h"

namespace policy {
namespace {

// Longest line shown below a message, in characters.
constexpr std::size_t kMaxShown = 200;
// Longest word a suggestion is looked for.
constexpr std::size_t kMaxWord = 64;

std::string_view line_of(std::string_view text, int line) {
  for (int at = 1; at < line; ++at) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), older;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    older = std::exchange(before, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      // Two letters swapped count as one slip.
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], older[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

void sort(std::vector<Diagnostic>& findings) {
  std::sort(findings.begin(), findings.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.file, a.at, a.code, a.message) < std::tie(b.file, b.at, b.code, b.message);
  });
}

}  // namespace

std::string Diagnostic::where() const { return place(file, at); }

std::string Diagnostic::format() const {
  return where() + (severity == Severity::error ? ": error[" : ": warning[") + code + "]: " + message;
}

std::string Diagnostic::format(std::string_view text) const {
  std::string out = format();
  const auto line = line_of(text, at.line);
  if (line.empty()) return out;
  const auto number = std::to_string(at.line);
  out += "\n  " + number + " | ";
  auto rest = line;
  for (std::size_t shown = 0; shown < kMaxShown && !rest.empty(); ++shown) {
    const auto point = take_code_point(rest);
    if (!point) break;
    if (*point < 0x20 || *point == 0x7F) {
      out.push_back('?');
    } else {
      append_utf8(*point, out);
    }
  }
  if (at.column >= 1 && static_cast<std::size_t>(at.column) <= kMaxShown) {
    out += "\n  " + std::string(number.size(), ' ') + " | " +
           std::string(static_cast<std::size_t>(at.column) - 1, ' ') + "^";
  }
  return out;
}

void Diagnostics::add(Diagnostic found) {
  if (found.severity == Severity::error) ++errors_;
  if (found_.size() < kMax) {
    found_.push_back(std::move(found));
    return;
  }
  // An error pushes out a warning, so that what refuses a file is never hidden by what does not.
  if (found.severity != Severity::error) return;
  const auto warning = std::find_if(found_.rbegin(), found_.rend(),
                                    [](const Diagnostic& d) { return d.severity == Severity::warning; });
  if (warning != found_.rend()) *warning = std::move(found);
}

void Diagnostics::error(std::string code, std::string_view file, Position at, std::string message) {
  add({Severity::error, std::move(code), std::string(file), at, std::move(message)});
}

void Diagnostics::warning(std::string code, std::string_view file, Position at, std::string message) {
  add({Severity::warning, std::move(code), std::string(file), at, std::move(message)});
}

std::vector<Diagnostic> Diagnostics::take() {
  sort(found_);
  return std::exchange(found_, {});
}

void join(std::vector<Diagnostic>& findings, std::vector<Diagnostic> more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  sort(findings);
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kMaxWord) return {};
  std::string_view nearest;
  std::size_t best = 3;
  for (const auto candidate : candidates) {
    const auto longer = std::max(candidate.size(), word.size()),
               shorter = std::min(candidate.size(), word.size());
    if (longer - shorter > 2) continue;
    const auto found = distance(word, candidate);
    if (found < best && found < shorter) {
      best = found;
      nearest = candidate;
    }
  }
  if (nearest.empty()) return {};
  return "; did you mean `" + std::string(nearest) + "`?";
}

}  // namespace policy
