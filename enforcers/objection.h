#pragma once

#include "policy/enforcer.h"
#include "policy/result.h"

namespace enforcers {

// An error of a check as an objection. A message of the form `what is wrong; what to do` is taken apart.
policy::Objection objection_of(const policy::Error&);

}  // namespace enforcers
