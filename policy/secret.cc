#include "policy/secret.h"

#include <algorithm>

#include "policy/compile.h"

namespace policy {

bool may_go(const Secret& secret, const Question& question) {
  Gaps gaps;
  return evaluate(secret.bound, question, Tri::unknown, gaps) == Tri::yes;
}

void add_injection(std::vector<Injection>& all, const Secret& secret) {
  const auto same = std::find_if(all.begin(), all.end(),
                                 [&](const Injection& other) { return other.header == secret.gives.header; });
  if (same == all.end()) {
    all.push_back(secret.gives);
  } else if (secret.tier < tier_from(same->secret.tier)) {
    *same = secret.gives;
  }
}

}  // namespace policy
