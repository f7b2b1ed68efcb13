#pragma once

#include <vector>

#include "policy/condition.h"
#include "policy/decision.h"
#include "policy/tier.h"

namespace policy {

// What one entry of `secrets:` says of a secret that the operator keeps: where it may go, and how. Its value
// stands in no policy.
struct Secret {
  Tier tier = Tier::user;
  Injection gives;
  Condition bound;  // https that is looked into, to a host and port, with a method and a path
};

// Whether the request is certainly one that the secret is for. Of a request that is not, it is never read.
bool may_go(const Secret&, const Question&);

// Adds one to those of a request. Of two for one header field the higher tier's stays; in a tier there are
// none.
void add_injection(std::vector<Injection>&, const Secret&);

}  // namespace policy
