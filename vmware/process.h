#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "policy/result.h"

namespace vmware {

// A child process to start. Nothing is inherited: the environment is exactly `environment`, standard input is
// empty, no descriptor but the three standard ones is open, signals are at their defaults, the session is its
// own.
struct ProcessSpec {
  // A file the child makes, and the size at which it is stopped.
  struct Growth {
    std::string path;
    std::uint64_t max_bytes = 0;
  };

  std::string program;                   // absolute
  std::vector<std::string> arguments;    // without the program itself
  std::vector<std::string> environment;  // `NAME=value`
  std::chrono::milliseconds deadline{};  // counted from the start
  std::size_t max_output = 256 * 1024;   // kept of each output stream; what goes beyond cannot be written
  std::optional<Growth> growth = {};
};

enum class ProcessEnd {
  exited,     // by itself; `exit` counts
  signalled,  // by a signal that was not ours
  timed_out,  // past its deadline, its group was killed
  stopped,    // by the caller's stop request, its group was killed
  overgrown,  // its file went beyond `growth`, its group was killed
};

struct ProcessResult {
  ProcessEnd end = ProcessEnd::exited;
  int exit = 0;
  int signal = 0;
  std::string out;  // bytes as written, at most max_output
  std::string err;
  bool truncated = false;  // either stream reached max_output
  std::chrono::microseconds took{};
};

// Starts child processes. A child is killed with its whole group when its time is over; a child of the child
// that made a session of its own lives on, as machines are meant to.
class Processes {
 public:
  virtual ~Processes() = default;
  // Resumes on the caller's executor when the process has ended, never because its output did. Fails with
  // `process.start` when it cannot be started and `process.stuck` when a killed one does not go away.
  virtual boost::asio::awaitable<policy::Result<ProcessResult>> run(ProcessSpec, std::stop_token) = 0;
};

std::unique_ptr<Processes> system_processes();

}  // namespace vmware
