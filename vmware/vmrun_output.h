#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

// What vmrun prints, read by its text: the exit code only advises. Pure functions of bytes that may be
// anything; nothing of them is repeated in a result but what is named.
namespace vmware {

enum class ToolsState { unknown, installed, running };

// What became of one vmrun command.
struct VmrunAnswer {
  enum class Kind {
    done,
    guest_exit,  // the guest's program ran and ended with `guest_exit`, not 0
    exists,      // an existence question
    absent,      // an existence question
    failed,      // `error` says why
  };
  Kind kind = Kind::done;
  int guest_exit = 0;
  policy::Error error;

  bool operator==(const VmrunAnswer&) const = default;
};

// `exit` is -1 when the process did not exit by itself. Error codes are those of vmrun_error().
VmrunAnswer classify(int exit, std::string_view out, std::string_view err);

// The stable code and what to do for the sentence after `Error: `. Matches anywhere in the sentence, without
// regard to case. `vmrun.other` for sentences not known; their text is not repeated. Codes: `guest.gone`
// (off), `guest.not_ready`, `guest.login`, `guest.permission`, `guest.no_file`, `guest.exists`, `vm.running`,
// `vm.missing`, `vm.unreadable`, `vm.invalid`, `vm.encrypted`, `vm.locked`, `vm.blocked`, `snapshot.missing`,
// `snapshot.exists`, `host.permission`, `vmrun.parameter`, `vmrun.unsupported`, `vmrun.unreachable`,
// `vmrun.command`, `vmrun.product`, `vmrun.resources`, `vmrun.other`.
policy::Error vmrun_error(std::string_view sentence);

// The .vmx paths of `list`; lines that are not absolute paths are left out. At most 1000.
policy::Result<std::vector<std::string>> parse_list(std::string_view out);
// The names of `listSnapshots`, without the TABs of a tree. At most 1000.
policy::Result<std::vector<std::string>> parse_snapshots(std::string_view out);
policy::Result<ToolsState> parse_tools_state(std::string_view out);

}  // namespace vmware
