#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "vmware/standin/confine.h"
#include "vmware/standin/launch.h"
#include "vmware/standin/runtime.h"
#include "vmware/standin/syscall_filter.h"

namespace standin {
namespace {

using policy::fail;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  // SAFETY: exec does not write to its words.
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Pipe {
  Fd read_end, write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail("program", "no pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Only descriptors 0 to 2 and those of `kept`, from kFirstGiven on, stay. Runs between fork and exec.
bool arrange_descriptors(int input, int output, int errors, const std::vector<int>& kept) {
  const int end = kFirstGiven + static_cast<int>(kept.size());
  // All of them out of the way of the numbers to be taken, first; nothing is closed before all is copied.
  std::array<int, kMostGiven + 8> copies{};
  if (kept.size() + 3 > copies.size()) return false;
  std::size_t count = 0;
  for (const int fd : {input, output, errors}) copies[count++] = fcntl(fd, F_DUPFD, end);
  for (const int fd : kept) copies[count++] = fcntl(fd, F_DUPFD, end);
  for (std::size_t i = 0; i < count; ++i) {
    if (copies[i] < 0 || dup2(copies[i], static_cast<int>(i)) < 0) return false;
  }
  return syscall(SYS_close_range, static_cast<unsigned>(end), ~0U, 0U) == 0;
}

// The words for `launcher_main`, and the descriptors to give, in the order of their numbers.
std::vector<std::string> launcher_words(const LaunchPlan& plan, std::vector<int>& kept) {
  std::vector<std::string> words{"sallyport-vmrun", "--launch"};
  const auto option = [&words](const char* name, const std::string& text) {
    words.insert(words.end(), {name, text});
  };
  for (const Fd& fd : plan.given) kept.push_back(fd.get());
  if (!plan.pid_file.empty()) option("--pid-file", plan.pid_file);
  for (const int fd : plan.confinement.readable) option("--readable", std::to_string(fd));
  if (plan.confinement.largest_file != 0)
    option("--largest-file", std::to_string(plan.confinement.largest_file));
  if (plan.confinement.network == Confinement::Network::host) words.emplace_back("--network");
  if (plan.account) {
    option("--account", std::to_string(plan.account->id));
    if (plan.account->group) option("--group", std::to_string(*plan.account->group));
    kept.push_back(plan.account->slot.get());
  }
  if (plan.held) kept.push_back(plan.held.get());
  words.emplace_back("--");
  words.insert(words.end(), plan.argv.begin(), plan.argv.end());
  return words;
}

struct LauncherWords {
  std::string pid_file;
  std::vector<int> readable;
  std::uint64_t largest_file = 0;
  bool network = false;
  std::optional<unsigned> account, group;
  std::vector<std::string> argv;
};

template <class Number>
bool read_number(const std::string& text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<LauncherWords> read_words(const std::vector<std::string>& words) {
  LauncherWords read;
  std::size_t at = 0;
  for (; at < words.size() && words[at] != "--"; ++at) {
    const std::string& name = words[at];
    if (name == "--network") {
      read.network = true;
      continue;
    }
    if (++at == words.size()) return std::nullopt;
    const std::string& text = words[at];
    bool good = true;
    if (name == "--pid-file") {
      read.pid_file = text;
    } else if (name == "--readable") {
      good = read_number(text, read.readable.emplace_back());
    } else if (name == "--largest-file") {
      good = read_number(text, read.largest_file);
    } else if (name == "--account") {
      good = read_number(text, read.account.emplace());
    } else if (name == "--group") {
      good = read_number(text, read.group.emplace());
    } else {
      good = false;
    }
    if (!good) return std::nullopt;
  }
  if (at + 1 >= words.size() || !words[at + 1].starts_with("/")) return std::nullopt;
  read.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(at + 1), words.end());
  return read;
}

Result<> confine(const LauncherWords& words) {
  umask(077);
  if (chdir("/") != 0) return fail("launch", "cannot leave the folder");
  if (!words.pid_file.empty() && !record_process(words.pid_file))
    return fail("launch", "cannot write the pid file");
  if (words.account) {
    if (auto occupied = occupy_slot(*words.account); !occupied) return occupied;
  }
  set_limits(words.largest_file);
  const auto network = words.network ? FileRules::Network::internet : FileRules::Network::none;
  auto rules = FileRules::make(words.argv[0], network);
  if (!rules) return tl::unexpected(rules.error());
  for (const int fd : words.readable) rules->allow_reading(fd);
  if (!words.network) (void)leave_network(words.account);
  if (auto given = give_up_identity(words.account, words.group); !given) return given;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("launch", "no_new_privs is refused");
  if (auto enforced = rules->enforce(); !enforced) return enforced;
  return forbid_system_calls(words.network ? Sockets::internet : Sockets::none);
}

// Runs `in_child` (which becomes the program, or returns) with its output captured.
Result<std::string> capture(const std::function<void(int nowhere, int output)>& in_child, Deadline deadline,
                            std::size_t limit_bytes, std::string_view until) {
  auto output = make_pipe();
  if (!output) return tl::unexpected(output.error());
  const Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t child = fork();
  if (child < 0) return fail("program", "cannot fork");
  if (child == 0) {
    in_child(nowhere.get(), output->write_end.get());
    _exit(127);
  }
  output->write_end.reset();
  std::string text;
  bool timed_out = false;
  for (;;) {
    pollfd waiting{output->read_end.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, left_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    timed_out = ready <= 0;
    if (timed_out) break;
    std::array<char, 4096> piece;
    const ssize_t got = read(output->read_end.get(), piece.data(), piece.size());
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > limit_bytes || (!until.empty() && text.find(until) != std::string::npos)) break;
  }
  const bool seen = !until.empty() && text.find(until) != std::string::npos;
  int status = 0;
  if (timed_out || seen || text.size() > limit_bytes) kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (seen) return text;
  if (timed_out) return fail("program.timeout", "the program did not end in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("program.failed", text.substr(0, 500));
  return text;
}

}  // namespace

Result<Fd> launch_detached(LaunchPlan plan) {
  auto errors = make_pipe();
  if (!errors) return tl::unexpected(errors.error());
  std::vector<int> kept;
  const std::vector<std::string> words = launcher_words(plan, kept);
  const std::vector<char*> argv = pointers(words);
  const std::string launcher = plan.launcher.empty() ? "/proc/self/exe" : plan.launcher;
  const Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nowhere) return fail("launch", "no /dev/null");

  const pid_t middle = fork();
  if (middle < 0) return fail("launch", "cannot fork");
  if (middle == 0) {
    // Twice, so that the process is nobody's child here and never a session leader that could get a terminal.
    setsid();
    const pid_t last = fork();
    if (last != 0) _exit(last < 0 ? 1 : 0);
    const int output = plan.streams == LaunchPlan::Streams::caller_stdout ? 1 : nowhere.get();
    if (!arrange_descriptors(nowhere.get(), output, errors->write_end.get(), kept)) _exit(127);
    char* const no_environment[] = {nullptr};
    execve(launcher.c_str(), argv.data(), no_environment);
    _exit(127);
  }
  int status = 0;
  while (waitpid(middle, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("launch", "cannot fork");
  return std::move(errors->read_end);
}

int launcher_main(const std::vector<std::string>& words) {
  const auto read = read_words(words);
  if (!read) return 2;
  if (auto confined = confine(*read); !confined) {
    std::fprintf(stderr, "launcher: %s\n", confined.error().message.c_str());
    return 2;
  }
  const std::vector<char*> program = pointers(read->argv);
  char* const no_environment[] = {nullptr};
  execve(read->argv[0].c_str(), program.data(), no_environment);
  std::fprintf(stderr, "launcher: cannot execute %s\n", read->argv[0].c_str());
  return 2;
}

Result<std::string> run_program(const std::vector<std::string>& argv, Deadline deadline,
                                std::size_t limit_bytes, std::string_view until) {
  const std::vector<char*> words = pointers(argv);
  return capture(
      [&words](int nowhere, int output) {
        if (arrange_descriptors(nowhere, output, output, {})) execv(words[0], words.data());
      },
      deadline, limit_bytes, until);
}

Result<std::string> run_confined(LaunchPlan plan, Deadline deadline, std::size_t limit_bytes,
                                 std::string_view until) {
  plan.held.reset();
  plan.pid_file.clear();
  std::vector<int> kept;
  const std::vector<std::string> words = launcher_words(plan, kept);
  const std::vector<char*> argv = pointers(words);
  const std::string launcher = plan.launcher.empty() ? "/proc/self/exe" : plan.launcher;
  return capture(
      [&](int nowhere, int output) {
        char* const no_environment[] = {nullptr};
        if (arrange_descriptors(nowhere, output, output, kept))
          execve(launcher.c_str(), argv.data(), no_environment);
      },
      deadline, limit_bytes, until);
}

std::string read_available(const Fd& fd, std::size_t limit_bytes, Millis wait) {
  std::string text;
  const Deadline deadline = after(wait);
  while (text.size() < limit_bytes) {
    pollfd waiting{fd.get(), POLLIN, 0};
    if (poll(&waiting, 1, left_ms(deadline)) <= 0) break;
    std::array<char, 4096> piece;
    const ssize_t got = read(fd.get(), piece.data(), std::min(piece.size(), limit_bytes - text.size()));
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace standin
