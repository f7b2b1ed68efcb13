#include "gateway/net/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace gateway {

StandardStreams take_standard_streams() {
  StandardStreams streams{Descriptor(::fcntl(0, F_DUPFD_CLOEXEC, 3)),
                          Descriptor(::fcntl(1, F_DUPFD_CLOEXEC, 3))};
  // A parent may have closed either; an empty input and a lost output are then what we have.
  if (!streams.in) streams.in = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!streams.out) streams.out = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) ::dup2(null.get(), 0);
  ::dup2(2, 1);
  return streams;
}

}  // namespace gateway
