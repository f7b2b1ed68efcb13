#pragma once

#include <optional>
#include <string>

#include "vmware/standin/machine.h"
#include "vmware/standin/runtime.h"

namespace standin {

// The lock VMware's products leave beside a machine that is in use: `<vmx>.lck/M<digits>.lck`, naming host
// and process. Ours also says what finds a running machine when the runtime folder is another's or gone.
class LockFile final {
 public:
  enum class Leftover { goes, counts };
  // `vm.in_use` when a process of another program, or another host, holds the machine. A lock whose process
  // on this host is gone is replaced, unless leftovers count.
  static Result<> take(const Machine& machine, const RuntimeEntry& entry, Leftover leftover = Leftover::goes);
  // Names the process that runs the machine, once there is one.
  static Result<> record(const Machine& machine, const RuntimeEntry& entry);
  static void drop(const Machine& machine);

  struct Owner {
    std::string process;  // a record as in `pid` files
    std::string entry;    // the folder of its runtime entry
  };
  // What a lock of this program on this host says. Whoever may write in the machine's folder may have written
  // it.
  static std::optional<Owner> owner(const Machine& machine);
};

}  // namespace standin
