#include "policy/request.h"

namespace policy {

std::string_view spelling(Transport transport) {
  switch (transport) {
    case Transport::stdio:
      return "stdio";
    case Transport::http:
      return "http";
    case Transport::cli:
      return "cli";
    case Transport::system:
      return "system";
  }
  return {};
}

Subject system_subject() {
  Subject subject;
  subject.principal = PrincipalId{"system"};
  subject.transport = Transport::system;
  return subject;
}

bool add_labels(Labels& labels, const Labels& more) {
  bool changed = false;
  for (const auto& [label, tier] : more) {
    const auto [at, fresh] = labels.try_emplace(label, tier);
    if (fresh || tier < at->second) {
      at->second = tier;
      changed = true;
    }
  }
  return changed;
}

}  // namespace policy
