#include "vmware/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include <gtest/gtest.h>

#include "tests/vmware/house.h"

namespace vmware {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class Process : public testing::Test {
 protected:
  ProcessSpec sh(std::string script, std::chrono::milliseconds deadline = 20s) {
    ProcessSpec spec;
    spec.program = "/bin/sh";
    spec.arguments = {"-c", std::move(script)};
    spec.environment = {"PATH=/usr/bin:/bin", "ONLY=this"};
    spec.deadline = deadline;
    return spec;
  }
  policy::Result<ProcessResult> run(ProcessSpec spec, std::stop_token stop = {}) {
    return thread.wait(processes->run(std::move(spec), std::move(stop)));
  }
  house::Thread thread;
  house::TempFolder folder;
  std::unique_ptr<Processes> processes = system_processes();
};

TEST_F(Process, GivesTheExitCodeAndBothStreams) {
  const auto result = run(sh("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::exited);
  EXPECT_EQ(result->exit, 7);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_FALSE(result->truncated);
}

TEST_F(Process, TellsADeathBySignalFromAnExitCode) {
  const auto result = run(sh("kill -9 $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::signalled);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST_F(Process, PassesTheEnvironmentExactlyAsGiven) {
  auto spec = sh("");
  spec.program = "/usr/bin/env";
  spec.arguments.clear();
  const auto result = run(std::move(spec));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "PATH=/usr/bin:/bin\nONLY=this\n");
}

TEST_F(Process, PassesNoDescriptorAndNoInput) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without close-on-exec
  const auto result = run(sh("ls /proc/self/fd | tr '\\n' ' '; cat"));
  ::close(leaked);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "0 1 2 3 ");  // 3 is the listing's own
}

TEST_F(Process, ClearsTheSignalMask) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto result = run(sh("kill -TERM $$; echo alive"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGTERM);
}

TEST_F(Process, KeepsOnlySoMuchOutputHoweverMuchIsWritten) {
  auto spec = sh("yes 2>/dev/null; echo done >&2");
  spec.max_output = 5000;
  const auto result = run(std::move(spec));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out.size(), 5000U);
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->err, "done\n");
}

TEST_F(Process, DoesNotWaitForAGrandchildThatHoldsItsOutput) {
  const auto began = steady_clock::now();
  const auto result = run(sh("setsid sleep 30 & echo started"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "started\n");
  EXPECT_LT(steady_clock::now() - began, 10s);
}

TEST_F(Process, KillsTheGroupAtTheDeadlineAndKeepsWhatWasSaid) {
  const auto mark = folder.path("late");
  const auto result = run(sh("echo before; (sleep 1; touch " + mark + ") & sleep 30", 300ms));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::timed_out);
  EXPECT_EQ(result->out, "before\n");
  ::usleep(1'200'000);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(Process, EndsWhenItIsStopped) {
  std::stop_source stop;
  boost::asio::steady_timer later(thread.io(), 200ms);
  later.async_wait([&](boost::system::error_code) { stop.request_stop(); });
  const auto began = steady_clock::now();
  const auto result = run(sh("sleep 30"), stop.get_token());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::stopped);
  EXPECT_LT(steady_clock::now() - began, 10s);
}

TEST_F(Process, EndsWhenItsFileGrowsTooFar) {
  auto spec = sh("yes > " + folder.path("big"));
  spec.growth = ProcessSpec::Growth{folder.path("big"), 100'000};
  const auto result = run(std::move(spec));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::overgrown);
}

TEST_F(Process, SaysThatAFileGrewTooFarEvenWhenTheProcessEndedFirst) {
  auto spec = sh("head -c 200000 /dev/zero > " + folder.path("big"));
  spec.growth = ProcessSpec::Growth{folder.path("big"), 100'000};
  const auto result = run(std::move(spec));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->end, ProcessEnd::overgrown);
}

TEST_F(Process, RefusesAProgramThatIsNotThere) {
  auto spec = sh("");
  spec.program = folder.path("nothing");
  const auto result = run(std::move(spec));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "process.start");
}

}  // namespace
}  // namespace vmware
