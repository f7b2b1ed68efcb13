#include "policy/obligation.h"

#include <array>

namespace policy {
namespace {

ActionSet of(std::string_view word) { return action_word(word)->actions; }

}  // namespace

std::span<const Obligation> obligations() {
  static const std::array<Obligation, 4> kAll{{
      {"clamp: { timeout }", of("run"), "allow, ask", "a longer timeout becomes this one"},
      {"clamp: { by }", of("extend"), "allow, ask", "a longer extension becomes this one"},
      {"label", actions_in_sandboxes(), "allow, ask",
       "marks the sandbox for the rest of its life; refused as `deny.obligation` where the label cannot be "
       "kept"},
      {"inject", web_actions(), "allow",
       "secrets of the same tier are put into the requests that they are for"},
  }};
  return kAll;
}

std::span<const Uncarried> uncarried_obligations() {
  static constexpr std::array<Uncarried, 5> kAll{{
      {"log", "every decision is in the log, with its arguments, whatever rules say"},
      {"notify", "use `ask` to have a person agree, or read the log as it grows"},
      {"record", "a screenshot is a call of its own"},
      {"redact", "typed text is logged as its length and a keyed digest, whatever rules say"},
      {"then", "`clamp`, `label` and `inject` stand in the rule itself"},
  }};
  return kAll;
}

}  // namespace policy
