#pragma once

#include <string>
#include <vector>

#include "vmware/standin/json_channel.h"

namespace standin {

// QEMU's control connection (QMP) of one machine. Serves one client at a time: hold it briefly.
class Monitor final {
 public:
  static Result<Monitor> connect(const std::string& runtime_folder, Deadline deadline);

  // `running`, `paused`, … as query-status says.
  Result<std::string> status(Deadline deadline);
  // Whether a program in the guest has the agent's port open.
  Result<bool> agent_port_open(Deadline deadline);
  Result<> quit(Deadline deadline);
  Result<> press_power_button(Deadline deadline);
  // Halts the processors, and lets them go on (also after a migration).
  Result<> pause(Deadline deadline);
  Result<> resume(Deadline deadline);
  // The reset button.
  Result<> reset(Deadline deadline);
  // Starts writing the machine's memory and devices to a file, and reading them in a machine that was started
  // to wait for that. How it goes is asked of `migration` and `status`.
  Result<> save_to(const Fd& file, Deadline deadline);
  Result<> load_from(const Fd& file, Deadline deadline);
  // `active`, `completed`, `failed`, …; `none` when there was none.
  Result<std::string> migration(Deadline deadline);
  Result<> cancel_migration(Deadline deadline);
  // Presses the keys together and lets go of them; names as in QEMU's QKeyCode.
  Result<> press_keys(const std::vector<std::string>& keys, Deadline deadline);
  // A PNG of the screen, written by QEMU into a file that is open for writing.
  Result<> screenshot(const Fd& file, Deadline deadline);

 private:
  Monitor(Fd lock, JsonChannel channel) : lock_(std::move(lock)), channel_(std::move(channel)) {}
  // Sends one command and returns the text of its `return`.
  Result<std::string> call(const std::string& command, Deadline deadline);
  Result<> order(const std::string& command, Deadline deadline);
  Result<> pass(const Fd& file, Deadline deadline);
  Result<std::string> reply(Deadline deadline);
  Fd lock_;
  JsonChannel channel_;
};

}  // namespace standin
