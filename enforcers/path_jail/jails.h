#pragma once

#include <memory>

#include "enforcers/path_jail/jail.h"
#include "policy/request.h"

namespace enforcers {

// Which folder the copies of a caller are held in. Asked on the deciding thread.
class Jails {
 public:
  virtual ~Jails() = default;
  virtual Result<std::shared_ptr<const Jail>> of(const policy::Subject&) const = 0;
};

}  // namespace enforcers
