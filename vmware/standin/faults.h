#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vmware/standin/command_line.h"

namespace standin {

// How real vmrun has been seen to misbehave, to be had on demand: `VMRUN_FAULT` is a list with commas of
// `NAME[=NUMBER][@COMMAND]`. Without `@COMMAND` a fault strikes every command.
class Faults final {
 public:
  enum class Kind {
    hold_stdout,       // `hold-stdout`: a started machine keeps the caller's standard output open
    hang,              // `hang=S`: do nothing for S seconds, an hour without a number, and then go on
    error_exit_0,      // `error-exit-0`: failures exit with 0
    exit_255_no_text,  // `exit-255-no-text`: fail without doing or saying anything
    tools_late,        // `tools-late=N`: the first N questions to a guest find its Tools not running
    tools_installed,   // `tools-installed`: checkToolsState says `installed` of Tools that run
    list_lags,         // `list-lags=S`: a machine is missing from `list` for S seconds after its start
    delay,             // `delay=MS`: each call takes so much longer
    quantum,           // `quantum=MS`: the end of a guest program is noticed only every so often, 1000
                       // without a number
    address_unknown,   // `ip-unknown`: getGuestIPAddress prints `unknown`
    address_stale,     // `ip-stale`: it prints the address known last, whatever the machine does
    clone_busy,        // `clone-busy=N`: the first N clones of a machine find its file in use, one without a
                       // number
    stale_lock,        // `stale-lck`: a stopped machine leaves its lock, and a lock that is there counts
    path_case,         // `path-case`: `list` prints paths in the other case
    path_spelling,     // `path-spelling`: `list` prints paths with `/./` in them
    truncated_copy,    // `truncated-copy=N`: a copy ends after N bytes, half without a number, and succeeds
    usage_mixed,       // `usage-mixed`: the help stands before the answer
  };

  // Fails (`fault`) on a name it does not know.
  static Result<Faults> parse(std::string_view text);
  // The number given (0 without one), if this fault strikes this command.
  std::optional<long> find(Kind kind, Command command) const;
  // A path as `path-case` and `path-spelling` print it.
  std::string disguised(std::string path) const;

 private:
  struct Fault {
    Kind kind;
    long number;
    std::optional<Command> only;
  };
  std::vector<Fault> faults_;
};

}  // namespace standin
