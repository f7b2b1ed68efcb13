#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vmware/standin/files.h"

namespace standin {

// What the process started may reach.
struct Confinement {
  std::vector<std::string> readable;  // files and folders
  std::vector<std::string> writable;  // files, and folders with their content
  enum class Network { own_empty, host } network = Network::own_empty;
};

struct LaunchPlan {
  std::vector<std::string> argv;  // argv[0] absolute
  Confinement confinement;
  std::string pid_file;  // written by the process itself before it becomes argv[0]; empty: none
  Fd held;               // a descriptor (a lock) the process keeps open for life; nothing else is inherited
  enum class Streams { closed, caller_stdout } streams = Streams::closed;
};

// A process of its own session, not our child, with this program's launcher (`launcher_main`) between it and
// us. What comes back is the reading end of its standard error: at its end of file the process is gone or has
// closed it.
Result<Fd> launch_detached(LaunchPlan plan);

// The launcher: `--launch` and its words; confines this process and becomes the program. Returns only on
// failure.
int launcher_main(const std::vector<std::string>& words);

// Runs a program to its end with its output captured, at most `limit` bytes of it; killed at the deadline
// (`program.timeout`) or when `until` (not empty) was seen in the output. Fails (`program.failed`) on a
// non-zero exit.
Result<std::string> run_program(const std::vector<std::string>& argv, Deadline deadline, std::size_t limit,
                                std::string_view until = {});

// What can be read within `wait`, up to `limit` bytes.
std::string read_available(const Fd& fd, std::size_t limit, Millis wait);

}  // namespace standin
