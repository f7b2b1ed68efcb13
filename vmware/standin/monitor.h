#pragma once

#include <string>

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
  // A PNG of the screen, written by QEMU into a file that is open for writing.
  Result<> screenshot(const Fd& file, Deadline deadline);

 private:
  Monitor(Fd lock, JsonChannel channel) : lock_(std::move(lock)), channel_(std::move(channel)) {}
  // Sends one command and returns the text of its `return`.
  Result<std::string> call(const std::string& command, Deadline deadline);
  Result<std::string> reply(Deadline deadline);
  Fd lock_;
  JsonChannel channel_;
};

}  // namespace standin
