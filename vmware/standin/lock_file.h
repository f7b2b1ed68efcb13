#pragma once

#include "vmware/standin/machine.h"

namespace standin {

// The lock VMware's products leave beside a machine that is in use: `<vmx>.lck/M<digits>.lck`, naming host
// and process. It informs others; whether one of our machines runs is decided by its runtime entry.
class LockFile final {
 public:
  enum class Leftover { goes, counts };
  // `vm.in_use` when a process of another program, or another host, holds the machine. A lock whose process
  // on this host is gone is replaced, unless leftovers count.
  static Result<> take(const Machine& machine, Leftover leftover = Leftover::goes);
  // Names the process that runs the machine, once there is one.
  static Result<> record(const Machine& machine, int pid);
  static void drop(const Machine& machine);
};

}  // namespace standin
