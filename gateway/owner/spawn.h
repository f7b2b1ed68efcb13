#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gateway/net/descriptor.h"
#include "policy/result.h"

namespace gateway {

using policy::Result;

// Connects to the owner of a state folder, starting `<program> daemon <arguments>` in a session of its own
// when none answers. Of many that try at once one starts it. The daemon says that it listens by closing the
// descriptor named in its --ready-fd; its diagnostics go to <state_dir>/owner.log.
Result<Descriptor> reach_owner(const std::string& state_dir, const std::string& socket_path,
                               const std::string& program, const std::vector<std::string>& arguments,
                               std::chrono::milliseconds within);

// For a process that holds a secret: no core dump, no tracing by the same user, no new privileges for
// children.
void harden_process();

// Runs a program to its end with our own stdin, stdout and stderr; its exit code, 127 when it did not start.
int run_in_foreground(const std::vector<std::string>& words);

// Says on --ready-fd that the socket listens.
void tell_ready(const Descriptor& ready);
void sleep_briefly();  // 10 ms
std::uint32_t own_user();
// The name of a user id, empty when it has none.
std::string account_name(std::uint32_t uid);
// Another descriptor of the same open file.
Descriptor duplicate(int fd);

// Waits until `fd` says that all is done or hangs up without a word, or `signals` (a signalfd) speaks.
enum class Ended { done, hang_up, signal };
Ended wait_for_end(int fd, int signals);
// SIGTERM, SIGINT and SIGHUP as a descriptor, blocked for the process.
Descriptor end_signals();

}  // namespace gateway
