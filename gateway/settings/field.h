#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "gateway/settings/settings.h"

namespace gateway {

// One setting: how it is called in each source, what it means, and how its text becomes a value. The reader,
// the command line and docs/settings.md are all made from this table.
struct Field {
  std::string_view name;  // in sallyport.yaml; SALLYPORT_<NAME> and --<name with dashes> follow from it
  std::string_view
      vmsandbox;            // the VMSANDBOX_ variable that means the same, without its prefix; may be empty
  std::string_view kind;    // path, text, count, duration, switch, list
  std::string_view preset;  // what holds when nothing is set, for the documentation
  std::string_view meaning;
  Result<void> (*set)(Settings&, std::string_view text);
};

std::span<const Field> fields();

}  // namespace gateway
