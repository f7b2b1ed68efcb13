// The path arguments of copies: what is accepted can be judged again with the same result, holds nothing that
// leads elsewhere, and what every host can hold is accepted by each host's rules.
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/path.h"
#include "policy/path_rules.h"
#include "property.h"

namespace {

using fuzz::require;

using policy::HostPath;
using policy::NameRules;

void check_host(std::string_view text, NameRules rules) {
  const auto path = HostPath::parse(text, rules);
  if (!path) {
    require(path.error().code.starts_with("path.") && path.error().message.find(';') != std::string::npos);
    return;
  }
  for (const auto& component : path->components()) {
    require(!component.empty() && component != "." && component != "..");
    require(component.find_first_of(std::string_view("/\0", 2)) == std::string::npos);
    require(component.size() <= policy::kMaxComponentBytes);
    require(!policy::judge_characters(component) && !policy::judge_component(component, rules));
  }
  require(path->components().size() <= policy::kMaxPathDepth);
  const auto again = HostPath::parse(path->text(), rules);
  require(again && *again == *path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  for (const auto rules : {NameRules::posix, NameRules::portable, NameRules::windows})
    check_host(text, rules);
  if (const auto path = HostPath::parse(text, NameRules::portable)) {
    for (const auto rules : {NameRules::posix, NameRules::windows}) {
      const auto same = HostPath::parse(text, rules);
      require(same && *same == *path);
    }
  }
  if (const auto guest = policy::GuestPath::parse(text)) {
    const auto again = policy::GuestPath::parse(guest->text());
    require(again && *again == *guest && guest->text().front() == '/');
  }
  return 0;
}
