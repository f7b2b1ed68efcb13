#include "policy/regex.h"

#include <utility>

#include <re2/re2.h>

#include "policy/utf8.h"

namespace policy {
namespace {

constexpr std::int64_t kMaxMemory = 1 << 20;  // bytes of a pattern, its automaton included

}  // namespace

Result<Regex> Regex::parse(std::string_view pattern, Where where) {
  if (pattern.empty()) return fail("policy.pattern", "the regular expression is empty");
  if (pattern.size() > kMaxPattern) {
    return fail("policy.pattern",
                "the regular expression is longer than " + std::to_string(kMaxPattern) + " bytes");
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  auto program = std::make_shared<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!program->ok()) return fail("policy.pattern", "no regular expression: " + program->error());
  if (program->ProgramSize() > kMaxProgram) {
    return fail("policy.pattern", "the regular expression is too large; shorten its repetitions");
  }
  return Regex(std::string(pattern), where, std::move(program));
}

Tri Regex::found_in(std::string_view text) const {
  if (text.size() > kMaxText || !is_utf8(text)) return Tri::unknown;
  const re2::StringPiece piece(text.data(), text.size());
  const auto anchor = where_ == Where::whole ? RE2::ANCHOR_BOTH : RE2::UNANCHORED;
  return program_->Match(piece, 0, piece.size(), anchor, nullptr, 0) ? Tri::yes : Tri::no;
}

}  // namespace policy
