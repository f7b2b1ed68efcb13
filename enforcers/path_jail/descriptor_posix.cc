#include "enforcers/path_jail/descriptor.h"

#include <unistd.h>

namespace enforcers {

void Descriptor::close() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

}  // namespace enforcers
