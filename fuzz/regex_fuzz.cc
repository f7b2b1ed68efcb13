// A pattern and a text, separated by the first NUL: what is accepted matches what RE2 says it matches, is as
// small as it must be, and is not known on what is no text.
#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/regex.h"
#include "policy/regex_automaton.h"
#include "policy/utf8.h"
#include "property.h"

namespace {

using fuzz::require;
using policy::Regex;
using policy::Tri;

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

void check(const Regex& regex, const RE2& oracle, std::string_view text) {
  require(regex.steps() < Regex::kMaxSteps);
  require(regex.states() <= policy::RegexAutomaton::kMaxStates);
  require(regex.cells() <= policy::RegexAutomaton::kMaxCells);
  const auto found = regex.found_in(text);
  if (text.size() > Regex::kMaxText || !policy::is_utf8(text)) {
    require(found == Tri::unknown);
    return;
  }
  const auto anchor = regex.where() == Regex::Where::whole ? RE2::ANCHOR_BOTH : RE2::UNANCHORED;
  const bool matches = oracle.Match(piece(text), 0, text.size(), anchor, nullptr, 0);
  require(found == (matches ? Tri::yes : Tri::no));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = fuzz::text_of(bytes, size);
  const auto pattern = input.substr(0, input.find('\0'));
  const auto text = pattern.size() < input.size() ? input.substr(pattern.size() + 1) : std::string_view();
  if (pattern.size() > Regex::kMaxPattern) return 0;
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 oracle(piece(pattern), options);
  for (const auto where : std::array{Regex::Where::whole, Regex::Where::anywhere}) {
    const auto regex = Regex::parse(pattern, where);
    if (!regex) {
      require(regex.error().code == "policy.pattern" && !regex.error().message.empty());
      continue;
    }
    require(oracle.ok() && regex->text() == pattern && regex->where() == where);
    check(*regex, oracle, text);
  }
  return 0;
}
