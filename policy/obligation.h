// What a rule may demand beside its answer: which of it can be carried out, of which actions, and what is
// known by name but by nothing here.
#pragma once

#include <span>
#include <string_view>

#include "policy/facts.h"

namespace policy {

struct Obligation {
  std::string_view key;      // of a rule
  ActionSet actions;         // that it can be carried out of
  std::string_view effects;  // that carry it
  std::string_view meaning;
};
std::span<const Obligation> obligations();

// Known from other policies; a rule that demands one is refused at load, for nothing would carry it out.
struct Uncarried {
  std::string_view key;
  std::string_view instead;  // what there is, as a clause
};
std::span<const Uncarried> uncarried_obligations();

}  // namespace policy
