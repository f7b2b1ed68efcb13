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
    hang,              // `hang`: do nothing, for an hour
    error_exit_0,      // `error-exit-0`: failures exit with 0
    exit_255_no_text,  // `exit-255-no-text`: fail without doing or saying anything
    tools_late,        // `tools-late=N`: the first N questions to a guest find its Tools not running
    list_lags,         // `list-lags=S`: a machine is missing from `list` for S seconds after its start
    delay,             // `delay=MS`: each call takes so much longer
  };

  // Fails (`fault`) on a name it does not know.
  static Result<Faults> parse(std::string_view text);
  // The number given (0 without one), if this fault strikes this command.
  std::optional<long> find(Kind kind, Command command) const;

 private:
  struct Fault {
    Kind kind;
    long number;
    std::optional<Command> only;
  };
  std::vector<Fault> faults_;
};

}  // namespace standin
