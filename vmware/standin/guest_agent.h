#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vmware/standin/json_channel.h"

namespace standin {

// What a process in the guest came to.
struct GuestExit {
  int code = 0;      // 128 + signal for a death by signal
  std::string out;   // captured standard output
  bool cut = false;  // the agent kept only a part of it
};

// A conversation with the QEMU guest agent. The agent serves one client at a time, so an open conversation
// keeps every other caller out: hold it for seconds at most. Whatever the guest answers is bounded and
// checked for shape.
class GuestAgent final {
 public:
  // Codes: `tools` (no agent answered), `channel`.
  static Result<GuestAgent> connect(const std::string& runtime_folder, Deadline deadline);

  // Starts argv[0] (absolute) as root, with the environment of `user` and `input` on its standard input; the
  // answer is the process id there.
  Result<std::int64_t> start(const std::vector<std::string>& argv, const std::string& user,
                             std::string_view input, Deadline deadline);
  // Nothing while it runs. A result can be fetched once.
  Result<std::optional<GuestExit>> poll(std::int64_t pid, Deadline deadline);
  // Asks the guest to power off, or to start anew.
  Result<> shut_down(Deadline deadline);
  Result<> reboot(Deadline deadline);
  // The first IPv4 address that is neither loopback nor a router's `.1`; empty when there is none.
  Result<std::string> address(Deadline deadline);

 private:
  GuestAgent(Fd lock, JsonChannel channel) : lock_(std::move(lock)), channel_(std::move(channel)) {}
  Result<> synchronize(Deadline deadline);
  Fd lock_;
  JsonChannel channel_;
};

}  // namespace standin
