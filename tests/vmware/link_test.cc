#include <fstream>

#include <gtest/gtest.h>

#include "tests/vmware/house.h"
#include "vmware/link/launcher.h"
#include "vmware/link/report.h"
#include "vmware/link/request.h"
#include "vmware/process.h"

namespace vmware {
namespace {

using namespace std::chrono_literals;

const std::string kToken = "0123456789abcdef0123456789abcdef";

std::string head(const std::string& rest) { return "sallyport1 " + kToken + " " + rest + "\n"; }

TEST(GuestReport, ComesBackAsItWasWritten) {
  GuestReport report;
  report.status = JobStatus::exited;
  report.exit_code = 137;
  report.ran = 1234ms;
  report.out = StreamView{std::string("a\0\n", 3), 7, 10, true};
  report.err = StreamView{"err", 0, 3, false};
  const auto read = parse_report(write_report(report, kToken), kToken);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, JobStatus::exited);
  EXPECT_EQ(read->exit_code, 137);
  EXPECT_EQ(read->ran, 1234ms);
  EXPECT_EQ(read->out.bytes, std::string("a\0\n", 3));
  EXPECT_EQ(read->out.offset, 7U);
  EXPECT_TRUE(read->out.truncated);
  EXPECT_EQ(read->err.bytes, "err");
  EXPECT_FALSE(read->err.truncated);
}

TEST(GuestReport, IsRefusedWhenItsNumbersDoNotAgree) {
  EXPECT_TRUE(parse_report(head("exited 0 1 3 3 0 0") + "abc", kToken));
  const std::string bad[] = {
      "",
      "\n",
      head("exited 0 1 3 3 0 0"),            // too short
      head("exited 0 1 3 3 0 0") + "abcd",   // too long
      head("exited 0 1 2 3 0 0") + "abc",    // kept more than there was
      head("exited 256 1 3 3 0 0") + "abc",  // no exit code
      head("exited -1 1 3 3 0 0") + "abc",   //
      head("exited 0 99999999999999999999 3 3 0 0") + "abc",
      head("exited 0 1 99999999999999999999 3 0 0") + "abc",
      head("exited 0 1 3 3 0") + "abc",
      head("exited 0 1 3 3 0 0 0") + "abc",
      head("exited 0 1  3 3 0 0") + "abc",
      head("exited 0x0 1 3 3 0 0") + "abc",
      head("finished 0 1 3 3 0 0") + "abc",
      head("census 0 1 3 3 0 0") + "abc",
      head("exited 0 1 2000000 2000000 0 0") + std::string(2000000, 'x'),
      "sallyport2 " + kToken + " exited 0 1 3 3 0 0\nabc",
      "sallyport1 ffffffffffffffffffffffffffffffff exited 0 1 3 3 0 0\nabc",
      std::string(kMaxReport + 1, 'x'),
  };
  for (const auto& bytes : bad) {
    const auto read = parse_report(bytes, kToken);
    ASSERT_FALSE(read) << bytes.substr(0, 90);
    EXPECT_EQ(read.error().code, "guest.report");
  }
}

TEST(GuestReport, ACensusIsTokensAndNothingElse) {
  const auto two = kToken + "\n" + kToken + "\n";
  EXPECT_EQ(parse_census(head("census 0 0 66 66 0 0") + two, kToken)->size(), 2U);
  EXPECT_TRUE(parse_census(head("census 0 0 0 0 0 0"), kToken)->empty());
  EXPECT_FALSE(parse_census(head("census 0 0 4 4 0 0") + "abc\n", kToken));
  EXPECT_FALSE(parse_census(head("census 0 0 33 33 0 0") + std::string(32, 'g') + "\n", kToken));
  EXPECT_FALSE(parse_census(head("exited 0 0 0 0 0 0"), kToken));
}

TEST(GuestRequest, NeverMixesTheCommandWithItsOwnWords) {
  GuestRequest request;
  request.command = "echo 1\nsallyport1 run 0 0 file -\n";
  request.wait = 1500ms;
  request.timeout = 60s;
  request.forget = {kToken, kToken};
  EXPECT_EQ(write_request(request),
            "sallyport1 run 1500 60 file " + kToken + "," + kToken + " 33\n" + request.command);
}

TEST(ShellQuoted, IsOneWordWhateverItHolds) {
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's $(x) `y` \\"), "'it'\\''s $(x) `y` \\'");
}

// The launcher itself, run by this machine's bash: everything in it but the killing of other users' programs.
class Launcher : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
    folder.write("launcher", std::string(launcher_script()));
  }
  void TearDown() override {
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      const auto name = entry.path().filename().string();
      for (const auto& token : tokens) {
        if (name.starts_with(".sallyport-" + token)) std::filesystem::remove_all(entry.path());
      }
    }
  }
  std::string begin(GuestRequest request) {
    const auto token = policy::random_hex32();
    tokens.push_back(token);
    std::ofstream(request_path(token)) << write_request(request);
    exit = launch(token);
    return token;
  }
  int launch(const std::string& word) {
    ProcessSpec spec;
    spec.program = "/bin/bash";
    spec.arguments = {folder.path("launcher"), word};
    spec.environment = {"HOME=" + folder.path()};
    spec.deadline = 40s;
    const auto result = thread.wait(processes->run(spec, {}));
    EXPECT_TRUE(result);
    EXPECT_EQ(result->end, ProcessEnd::exited);
    return result->exit;
  }
  policy::Result<GuestReport> report(const std::string& token) {
    return parse_report(house::slurp(report_path(token)), token);
  }
  GuestRequest waiting(std::string command, std::chrono::seconds timeout = 20s) {
    GuestRequest request;
    request.command = std::move(command);
    request.wait = 30s;
    request.timeout = timeout;
    return request;
  }
  bool runs(const std::string& pattern) {
    ProcessSpec spec;
    spec.program = "/bin/sh";
    // In brackets, or the search would find itself.
    const auto hidden = "[" + pattern.substr(0, 1) + "]" + pattern.substr(1);
    spec.arguments = {"-c", "grep -lsxz '" + hidden + "' /proc/[0-9]*/cmdline | grep -q ."};
    spec.environment = {"PATH=/usr/bin:/bin"};
    spec.deadline = 20s;
    return thread.wait(processes->run(spec, {}))->exit == 0;
  }

  house::Thread thread;
  house::TempFolder folder;
  std::unique_ptr<Processes> processes = system_processes();
  std::vector<std::string> tokens;
  int exit = -1;
};

TEST_F(Launcher, RefusesWhatIsNoToken) {
  EXPECT_EQ(launch("x"), 64);
  EXPECT_EQ(launch(kToken + "0"), 64);
  EXPECT_EQ(launch("../../../../../../etc/passwd-0123456789"), 64);
  EXPECT_EQ(launch(policy::random_hex32()), 64);
}

TEST_F(Launcher, RunsTheCommandInTheHomeFolderWithoutInput) {
  const auto token = begin(waiting("pwd; cat; echo \"x'y\" >&2; exit 9 # '\"$("));
  EXPECT_EQ(exit, 0);
  const auto read = report(token);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, JobStatus::exited);
  EXPECT_EQ(read->exit_code, 9);
  EXPECT_EQ(read->out.bytes, folder.path() + "\n");
  EXPECT_EQ(read->err.bytes, "x'y\n");
}

TEST_F(Launcher, EndsTheWholeTreeAtTheTimeoutAndKeepsWhatWasPrinted) {
  const auto n = "3" + std::to_string(::getpid());
  const auto token = begin(waiting(
      "echo said; setsid sleep " + n + "1 & (setsid env -i sleep " + n + "2 &); sleep " + n + "3", 1s));
  const auto read = report(token);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, JobStatus::timed_out);
  EXPECT_EQ(read->out.bytes, "said\n");
  for (const auto& end : {"1", "3"}) EXPECT_FALSE(runs(n + end)) << end;
  // One that forgot its environment and its parents is found where perl is at hand.
  if (std::filesystem::exists("/usr/bin/perl")) {
    EXPECT_FALSE(runs(n + "2"));
  }
}

TEST_F(Launcher, LeavesADaemonAloneThatTheCommandMeantToStart) {
  const auto n = "4" + std::to_string(::getpid());
  const auto token = begin(waiting("sleep " + n + " & echo $!"));
  const auto read = report(token);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, JobStatus::exited);
  EXPECT_TRUE(runs(n));
  ::kill(static_cast<pid_t>(std::stol(read->out.bytes)), SIGKILL);
}

TEST_F(Launcher, KeepsTheNewestMegabyteOfAFlood) {
  const auto token = begin(waiting("seq 1 800000; echo end"));
  const auto read = report(token);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->out.total, 5488899U);
  EXPECT_EQ(read->out.bytes.size(), kStreamKept);
  EXPECT_TRUE(read->out.bytes.ends_with("\n799999\n800000\nend\n"));
}

TEST_F(Launcher, ReportsOnAJobThatRunsAndStopsIt) {
  GuestRequest request;
  const auto n = "5" + std::to_string(::getpid());
  request.command = "echo up; sleep " + n;
  const auto token = begin(request);
  EXPECT_EQ(exit, 0);
  for (int i = 0; i < 100 && !runs(n); ++i) ::usleep(50'000);
  EXPECT_EQ(launch(token), 0);
  EXPECT_EQ(report(token)->status, JobStatus::running);
  EXPECT_EQ(report(token)->out.bytes, "up\n");
  std::ofstream(stop_path(token)) << "stop\n";
  EXPECT_EQ(launch(token), 0);
  EXPECT_EQ(report(token)->status, JobStatus::stopped);
  EXPECT_EQ(report(token)->out.bytes, "up\n");
  EXPECT_FALSE(runs(n));
}

TEST_F(Launcher, AStopThatComesBeforeTheStartIsNotForgotten) {
  const auto token = policy::random_hex32();
  tokens.push_back(token);
  std::ofstream(request_path(token)) << write_request(waiting("true"));
  std::ofstream(stop_path(token)) << "stop\n";
  EXPECT_EQ(launch(token), 64);
  EXPECT_EQ(launch(token), 64);
}

TEST_F(Launcher, KnowsAJobWhoseOwnProcessWasKilled) {
  GuestRequest request;
  request.command = "sleep 1";
  const auto token = begin(request);
  for (int i = 0; i < 100 && house::slurp(std::string(kGuestPrefix) + token + ".supervisor").empty(); ++i) {
    ::usleep(20'000);
  }
  ::kill(static_cast<pid_t>(std::stol(house::slurp(std::string(kGuestPrefix) + token + ".supervisor"))),
         SIGKILL);
  ::usleep(100'000);
  // Killed as it began, it may have left the file with its start empty.
  std::ofstream(std::string(kGuestPrefix) + token + ".started", std::ios::trunc).flush();
  EXPECT_EQ(launch(token), 0);
  const auto told = report(token);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->status, JobStatus::lost);
}

TEST_F(Launcher, AnswersByItsExitCodeWhenAsked) {
  auto request = waiting("exit 8");
  request.answer = GuestRequest::Answer::exit_code;
  begin(request);
  EXPECT_EQ(exit, 108);
  request.timeout = 1s;
  request.command = "sleep 20";
  begin(request);
  EXPECT_EQ(exit, 99);
}

TEST_F(Launcher, DoesNotRunHalfACommand) {
  const auto mark = folder.path("ran");
  for (const std::string& end : {std::string(), std::string("\xc3\xa4"), std::string("\0#", 2)}) {
    GuestRequest request;
    request.command = "touch " + mark + "\necho " + end;
    request.wait = 5s;
    begin(request);
    EXPECT_EQ(exit, 0);
    EXPECT_TRUE(std::filesystem::remove(mark));
    const auto whole = write_request(request);
    for (const std::size_t lost : {std::size_t{1}, request.command.size()}) {
      const auto token = policy::random_hex32();
      tokens.push_back(token);
      std::ofstream(request_path(token)) << whole.substr(0, whole.size() - lost);
      EXPECT_EQ(launch(token), static_cast<int>(LauncherExit::cut_off));
    }
    EXPECT_FALSE(std::filesystem::exists(mark));
  }
}

TEST_F(Launcher, ForgetsWhatItIsTold) {
  const auto first = begin(waiting("echo 1"));
  EXPECT_TRUE(std::filesystem::exists(report_path(first)));
  auto request = waiting("true");
  request.forget = {first};
  begin(request);
  EXPECT_FALSE(std::filesystem::exists(report_path(first)));
  EXPECT_FALSE(std::filesystem::exists(std::string(kGuestPrefix) + first + ".events"));
}

TEST_F(Launcher, PacksAndUnpacksFilesAndFolders) {
  const auto tar = folder.path("t.tar");
  std::filesystem::create_directories(folder.path("it's/sub"));
  folder.write("it's/-a", "dash");
  folder.write("it's/sub/b\\n", "backslash");
  const auto path = [&](const std::string& name) { return *policy::GuestPath::parse(folder.path(name)); };
  const auto exit_of = [&](std::string command) {
    auto request = waiting(std::move(command));
    request.answer = GuestRequest::Answer::exit_code;
    begin(request);
    return exit - 100;
  };
  EXPECT_EQ(exit_of(pack_command(tar, path("it's"), 1 << 20)), 0);
  const auto size = std::filesystem::file_size(tar);
  EXPECT_EQ(exit_of(if_whole(tar, size, unpack_folder_command(tar, path("new")))), 0);
  EXPECT_EQ(house::slurp(folder.path("new/sub/b\\n")), "backslash");
  EXPECT_FALSE(std::filesystem::exists(tar));

  EXPECT_EQ(exit_of(pack_command(tar, path("it's/-a"), 1 << 20)), 0);
  EXPECT_EQ(exit_of(unpack_file_command(tar, path("renamed"))), 0);
  EXPECT_EQ(house::slurp(folder.path("renamed")), "dash");
  EXPECT_EQ(exit_of(pack_command(tar, path("it's/-a"), 1 << 20)), 0);
  EXPECT_EQ(exit_of(unpack_file_command(tar, path("no/such"))), 3);
  EXPECT_EQ(exit_of(pack_command(tar, path("it's/-a"), 1 << 20)), 0);
  EXPECT_EQ(exit_of(unpack_file_command(tar, path("it's"))), 4);
  EXPECT_EQ(exit_of(pack_command(tar, path("it's"), 1 << 20)), 0);
  EXPECT_EQ(exit_of(if_whole(tar, size + 1, unpack_folder_command(tar, path("cut")))), 11);
  EXPECT_FALSE(std::filesystem::exists(folder.path("cut")));
  EXPECT_FALSE(std::filesystem::exists(tar));
  EXPECT_EQ(exit_of(pack_command(tar, path("none"), 1 << 20)), 7);
  EXPECT_EQ(exit_of(pack_command(tar, path("it's"), 100)), 8);
  EXPECT_FALSE(std::filesystem::exists(tar));
}

}  // namespace
}  // namespace vmware
