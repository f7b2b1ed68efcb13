#pragma once

#include "gateway/net/descriptor.h"

namespace gateway {

// The process's stdin and stdout, moved away: afterwards 0 reads /dev/null and 1 writes to stderr, so that
// nothing but the protocol can reach the client, whatever a library or a child prints.
struct StandardStreams {
  Descriptor in, out;
};
StandardStreams take_standard_streams();

}  // namespace gateway
