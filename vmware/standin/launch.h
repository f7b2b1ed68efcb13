#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vmware/standin/account.h"
#include "vmware/standin/files.h"

namespace standin {

// What the process started may reach beyond the program itself, its libraries and its data files. Descriptors
// it was given need no entry here.
struct Confinement {
  std::vector<int> readable;  // numbers of given descriptors whose files may be opened again, for reading
  enum class Network { own_empty, host } network = Network::own_empty;
  std::uint64_t largest_file = 0;  // bytes; 0: as large as the caller may write
};

struct LaunchPlan {
  std::vector<std::string> argv;  // argv[0] absolute
  Confinement confinement;
  std::string pid_file;  // written by the process itself before it becomes argv[0]; empty: none
  // Given to the process as descriptors kFirstGiven, kFirstGiven + 1, …; the process's only way to its files.
  std::vector<Fd> given;
  Fd held;                         // a lock the process keeps open for life
  std::optional<Account> account;  // what it runs as; without one as the caller
  enum class Streams { closed, caller_stdout } streams = Streams::closed;
  std::string launcher;  // the program whose `--launch` is used; empty: this very one
};
constexpr int kFirstGiven = 3;
constexpr std::size_t kMostGiven = 200;

// A process of its own session, not our child, with this program's launcher (`launcher_main`) between it and
// us. What comes back is the reading end of its standard error: at its end of file the process is gone or has
// closed it.
Result<Fd> launch_detached(LaunchPlan plan);

// The launcher: `--launch` and its words; confines this process and becomes the program. Returns only on
// failure: a confinement that cannot be had ends it, but for what `posture.h` lists as optional.
int launcher_main(const std::vector<std::string>& words);

// Runs a program to its end with its output captured, at most `limit` bytes of it; killed at the deadline
// (`program.timeout`) or when `until` (not empty) was seen in the output. Fails (`program.failed`) on a
// non-zero exit.
Result<std::string> run_program(const std::vector<std::string>& argv, Deadline deadline, std::size_t limit,
                                std::string_view until = {});
// The same through the launcher; `held`, `pid_file` and `streams` of the plan mean nothing here.
Result<std::string> run_confined(LaunchPlan plan, Deadline deadline, std::size_t limit,
                                 std::string_view until = {});

// What can be read within `wait`, up to `limit` bytes.
std::string read_available(const Fd& fd, std::size_t limit, Millis wait);

}  // namespace standin
