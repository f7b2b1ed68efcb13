// Calls one tool of an MCP server over stdio as fast as the server answers, and prints the calls per second.
// A client that builds and parses every message takes longer than a server that answers from memory; this one
// writes the same line with another id and looks for the end of the answer. usage: call_rate TOOL ARGUMENTS
// IN_FLIGHT SECONDS COMMAND...
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(std::string_view why) {
  std::fprintf(stderr, "call_rate: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(1);
}

class Server {
 public:
  explicit Server(char** command) {
    std::array<int, 2> in, out;
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) fail("no pipe");
    pid_ = ::fork();
    if (pid_ < 0) fail("no process");
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(null, STDERR_FILENO);
      ::execvp(command[0], command);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // Ends by the end of its input.
  ~Server() {
    ::close(to_);
    ::close(from_);
    ::waitpid(pid_, nullptr, 0);
  }

  void say(std::string line) const {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const auto written = ::write(to_, rest.data(), rest.size());
      if (written <= 0) fail("the server reads no more");
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  // Waits for at least one answer, 30 s at the most; how many came. A failed call ends everything.
  int answers() {
    for (;;) {
      pollfd readable{.fd = from_, .events = POLLIN, .revents = 0};
      if (::poll(&readable, 1, 30'000) <= 0) fail("no answer in 30 s");
      const auto got = ::read(from_, bytes_.data(), bytes_.size());
      if (got <= 0) fail("the server is gone");
      rest_.append(bytes_.data(), static_cast<std::size_t>(got));
      int came = 0;
      std::size_t begin = 0;
      for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const auto line = std::string_view(rest_).substr(begin, end - begin);
        if (line.find("\"isError\":true") != line.npos || line.find("\"error\":{") != line.npos) fail(line);
        came += line.find("\"result\":") != line.npos;
      }
      rest_.erase(0, begin);
      if (came > 0) return came;
    }
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::array<char, 65536> bytes_;
  std::string rest_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) fail("usage: call_rate TOOL ARGUMENTS IN_FLIGHT SECONDS COMMAND...");
  std::signal(SIGPIPE, SIG_IGN);
  const std::string call = std::string(R"(,"method":"tools/call","params":{"name":")") + argv[1] +
                           R"(","arguments":)" + argv[2] + "}}";
  const int in_flight = std::atoi(argv[3]);
  const std::chrono::duration<double> lasts(std::atof(argv[4]));
  Server server(argv + 5);
  server.say(
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})");
  server.answers();
  server.say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");

  long next = 0, answered = 0;
  const auto ask = [&](int calls) {
    for (; calls > 0; --calls) server.say(R"({"jsonrpc":"2.0","id":)" + std::to_string(++next) + call);
  };
  ask(in_flight);
  while (answered < 200) {
    const int came = server.answers();
    answered += came;
    ask(came);
  }
  answered = 0;
  const auto began = Clock::now();
  while (Clock::now() - began < lasts) {
    const int came = server.answers();
    answered += came;
    ask(came);
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  std::printf("%.0f\n", static_cast<double>(answered) / took.count());
}
