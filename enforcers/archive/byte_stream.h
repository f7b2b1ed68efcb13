#pragma once

#include <cstddef>
#include <string_view>

#include "policy/result.h"

namespace enforcers {

// Where an archive comes from. May block; an implementation has a deadline.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `most` further bytes, at least one; empty at the end. Valid until the next call.
  virtual policy::Result<std::string_view> read(std::size_t most) = 0;
};

// Where an archive goes to.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual policy::Result<void> write(std::string_view bytes) = 0;
};

}  // namespace enforcers
