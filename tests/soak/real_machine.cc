#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/vmware/house.h"
#include "vmware/sandboxes.h"

// A sandbox's whole life through the room's own interface, with the time of each step. Needs a base machine
// (SALLYPORT_TEST_IMAGE, its .vmx, with guest.json beside it) and a vmrun (SALLYPORT_TEST_VMRUN, or ours
// beside the tests), so it is no part of the unit tests: `./dev soak machine` runs it.
namespace {

using namespace std::chrono_literals;
using vmware::JobStatus;

class RealMachine : public testing::Test {
 protected:
  void SetUp() override {
    const char* image = std::getenv("SALLYPORT_TEST_IMAGE");
    ASSERT_NE(image, nullptr) << "SALLYPORT_TEST_IMAGE is not set";
    const char* vmrun = std::getenv("SALLYPORT_TEST_VMRUN");
    settings.vmrun = vmrun != nullptr ? vmrun : SALLYPORT_BIN_DIR "/sallyport-vmrun";
    ASSERT_TRUE(std::filesystem::exists(settings.vmrun)) << "there is no " << settings.vmrun;
    settings.base_vmx = image;
    settings.snapshot = "clean";
    settings.clones = folder.path("clones");
    settings.state = folder.path("state");
    const auto login = nlohmann::json::parse(
        house::slurp((std::filesystem::path(image).parent_path() / "guest.json").string()));
    settings.guest_user = login.at("user");
    settings.guest_password = login.at("password");
    runtime = "/tmp/sallyport-rt-" + std::to_string(::getpid());
    settings.environment = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "SALLYPORT_VMRUN_DIR=" + runtime};
    if (const char* home = std::getenv("HOME")) settings.environment.push_back(std::string("HOME=") + home);
    house.open(vmware::open_machines(house.thread.io().get_executor(), settings, clock));
  }
  void TearDown() override {
    if (house.machines) {
      for (const auto& info : house.machines->all()) destroy(info.id);
    }
    std::error_code ignored;
    if (!runtime.empty()) std::filesystem::remove_all(runtime, ignored);
  }
  void destroy(const policy::SandboxId& id) {
    auto gone = house.thread.wait(
        house.machines->destroy(house.grant(policy::Destroy{id, policy::DestroyCause::asked})));
    EXPECT_TRUE(gone) << gone.error().message;
  }
  policy::SandboxId create() {
    auto made = house.thread.wait(
        house.machines->create(house.grant(policy::Create{}), [](int, int, const std::string&) {}, {}));
    if (!made) throw std::runtime_error(made.error().code + ": " + made.error().message + last_words());
    return made->id;
  }
  // What vmrun said when it failed.
  std::string last_words() const {
    std::string words;
    for (const auto& closed : house.sink.outcomes()) {
      if (!closed.outcome.ok) words += "\n" + policy::canonical(closed.outcome.details);
    }
    return words;
  }
  vmware::Result<vmware::JobView> begin(const policy::SandboxId& id, std::string command,
                                        std::chrono::seconds timeout, std::chrono::milliseconds max_wait) {
    policy::Run what{id, std::move(command), timeout};
    return house.thread.wait(house.machines->run(house.grant(what), max_wait, nullptr, {}));
  }
  // To the end, however slow the guest is.
  vmware::Result<vmware::JobView> run(const policy::SandboxId& id, std::string command,
                                      std::chrono::seconds timeout = 120s) {
    auto view = begin(id, std::move(command), timeout, 45s);
    for (int tries = 0; tries < 40 && view && view->status == JobStatus::running; ++tries) {
      view = check(id, view->job);
    }
    return view;
  }
  vmware::Result<vmware::JobView> check(const policy::SandboxId& id, const policy::JobId& job) {
    return house.thread.wait(house.machines->check(house.grant(policy::Check{id, job}), {}));
  }

  policy::SystemClock clock;
  house::TempFolder folder;
  house::House house{clock};
  vmware::MachineSettings settings;
  std::string runtime;
};

void tell(const char* what, std::chrono::steady_clock::time_point began) {
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf("  %-34s %6lld ms\n", what,
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

TEST_F(RealMachine, LivesItsWholeLife) {
  auto began = std::chrono::steady_clock::now();
  const auto lap = [&](const char* what) {
    tell(what, began);
    began = std::chrono::steady_clock::now();
  };
  const auto id = create();
  lap("create");

  auto ran = run(id, "true");
  // Time enough for a guest as fast as this one to get a few commands going.
  const auto patience =
      2s + std::chrono::duration_cast<std::chrono::seconds>(3 * (std::chrono::steady_clock::now() - began));
  lap("run true");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->status, JobStatus::exited);
  EXPECT_EQ(ran->exit_code, 0);

  ran = run(id, "echo out; echo err >&2; pwd; id -un; cat; exit 7 # '\"$(");
  lap("run with output");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->exit_code, 7);
  EXPECT_EQ(ran->out.bytes, "out\n/home/agent\nagent\n");
  EXPECT_EQ(ran->err.bytes, "err\n");

  ran = run(id, "kill -9 $$");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->exit_code, 137);
  lap("run that kills itself");

  // At its timeout the whole tree dies, what was printed stays.
  ran = run(id, "echo before; setsid sleep 701 & (setsid env -i sleep 702 &); sudo -n sleep 703 & sleep 704",
            patience);
  lap("timeout");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->status, JobStatus::timed_out);
  EXPECT_EQ(ran->out.bytes, "before\n");
  ran = run(id, "pgrep -a sleep; true");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out.bytes, "");
  lap("look for what is left");

  // A flood costs nothing but its oldest bytes.
  ran = run(id, "yes | head -c 6000000; echo end");
  lap("flood of 6 MB");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out.total, 6000004U);
  EXPECT_EQ(ran->out.bytes.size(), 1048576U);
  EXPECT_TRUE(ran->out.truncated);
  EXPECT_TRUE(ran->out.bytes.ends_with("end\n"));

  // Past max_wait a run goes on as a job.
  ran = begin(id, "echo first; sleep 12; echo last", 300s, 1s);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->status, JobStatus::running);
  EXPECT_EQ(house.machines->running_jobs(id), 1U);
  const auto slow = ran->job;
  lap("run past max_wait");

  auto job = house.thread.wait(
      house.machines->start(house.grant(policy::Start{id, "echo up; sleep 900 & sleep 901"}), {}));
  lap("start");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(house.machines->running_jobs(id), 2U);
  auto seen = check(id, job->job);
  lap("check");
  ASSERT_TRUE(seen) << seen.error().message;
  for (int tries = 0; tries < 20 && seen && seen->out.bytes.empty(); ++tries) seen = check(id, job->job);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->status, JobStatus::running);
  EXPECT_EQ(seen->out.bytes, "up\n");
  seen = house.thread.wait(house.machines->stop(house.grant(policy::Stop{id, job->job}), {}));
  lap("stop");
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->status, JobStatus::stopped);
  EXPECT_EQ(seen->out.bytes, "up\n");
  seen = check(id, job->job);
  lap("check of an ended job");
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->status, JobStatus::stopped);
  ran = run(id, "pgrep -a sleep; true");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out.bytes.find("90"), std::string::npos) << ran->out.bytes;
  began = std::chrono::steady_clock::now();
  house.thread.wait(house.machines->recount(house::caller(), id));
  lap("recount");
  seen = check(id, slow);
  for (int tries = 0; tries < 20 && seen && seen->status == JobStatus::running; ++tries)
    seen = check(id, slow);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->status, JobStatus::exited);
  EXPECT_EQ(seen->out.bytes, "first\nlast\n");
  EXPECT_EQ(house.machines->running_jobs(id), 0U);
  lap("check of the slow run");

  // A cancelled run leaves nothing behind.
  std::stop_source stop;
  boost::asio::steady_timer later(house.thread.io(), 2s);
  later.async_wait([&](boost::system::error_code) { stop.request_stop(); });
  policy::Run forever{id, "sleep 801", 60s};
  auto cancelled =
      house.thread.wait(house.machines->run(house.grant(forever), 45s, nullptr, stop.get_token()));
  lap("run cancelled after 2 s");
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, "cancelled");
  ran = run(id, "pgrep -a sleep; true");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out.bytes, "");

  // Copies.
  const auto source = folder.path("source");
  std::filesystem::create_directories(source + "/sub");
  std::ofstream(source + "/a.txt") << "hello\n";
  std::ofstream(source + "/sub/b.txt") << "deep\n";
  ASSERT_EQ(std::system(("tar -C " + source + " -cf " + folder.path("in.tar") + " .").c_str()), 0);
  ASSERT_EQ(std::system(("tar -C " + source + " -cf " + folder.path("one.tar") + " a.txt").c_str()), 0);
  began = std::chrono::steady_clock::now();
  const auto put = [&](const std::string& tar, const std::string& to, vmware::CopyShape shape) {
    policy::CopyIn what{id, *policy::HostPath::parse("x"), *policy::GuestPath::parse(to), {}};
    vmware::StagedFile staged{tar, std::filesystem::file_size(tar)};
    return house.thread.wait(house.machines->put(house.grant(what), staged, shape, {}));
  };
  auto done = put(folder.path("in.tar"), "/home/agent/it's here", vmware::CopyShape::folder);
  lap("put a folder");
  ASSERT_TRUE(done) << done.error().message;
  done = put(folder.path("one.tar"), "/home/agent/renamed.txt", vmware::CopyShape::file);
  lap("put a file");
  ASSERT_TRUE(done) << done.error().message;
  done = put(folder.path("one.tar"), "/no/such/folder/renamed.txt", vmware::CopyShape::file);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "copy.no_parent");
  done = put(folder.path("one.tar"), "/etc/renamed.txt", vmware::CopyShape::file);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "copy.not_permitted");
  ran = run(id, "cat renamed.txt \"it's here/sub/b.txt\"");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out.bytes, "hello\ndeep\n");

  began = std::chrono::steady_clock::now();
  const auto fetch = [&](const std::string& from, const std::string& to, std::uint64_t most) {
    policy::FetchOut what{id, *policy::GuestPath::parse(from), *policy::HostPath::parse("x")};
    return house.thread.wait(house.machines->fetch(house.grant(what), to, most, {}));
  };
  auto out = fetch("/home/agent/it's here", folder.path("out.tar"), 1 << 20);
  lap("fetch a folder");
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(std::system(("mkdir " + folder.path("out") + " && tar -C " + folder.path("out") + " -xf " +
                         folder.path("out.tar"))
                            .c_str()),
            0);
  EXPECT_EQ(house::slurp(folder.path("out/sub/b.txt")), "deep\n");
  out = fetch("/home/agent/renamed.txt", folder.path("file.tar"), 1 << 20);
  ASSERT_TRUE(out) << out.error().message;
  out = fetch("/home/agent/none", folder.path("none.tar"), 1 << 20);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, "copy.missing");
  ran = run(id, "head -c 3000000 /dev/zero > big");
  out = fetch("/home/agent/big", folder.path("big.tar"), 1 << 20);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, "copy.too_large");
  EXPECT_FALSE(std::filesystem::exists(folder.path("big.tar")));

  began = std::chrono::steady_clock::now();
  auto png = house.thread.wait(house.machines->screenshot(house.grant(policy::Screenshot{id}), {}));
  lap("screenshot");
  ASSERT_TRUE(png) << png.error().message;
  EXPECT_TRUE(png->starts_with("\x89PNG"));

  // A guest that loses our launcher gets it again; one that forges its report or fills its disk hurts itself.
  ran = run(id, "rm -rf /var/tmp/.sallyport*");
  ASSERT_TRUE(ran) << ran.error().message;
  ran = run(id,
            "sudo fallocate -l \"$(df --output=avail -B1 / | tail -n 1)\" /fill; cat /bin/bash > more || "
            "echo full; "
            "sudo rm -f /fill more");
  lap("a full disk");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out.bytes, "full\n");

  began = std::chrono::steady_clock::now();
  destroy(id);
  lap("destroy");
  EXPECT_EQ(house.machines->all().size(), 0U);
  EXPECT_FALSE(std::filesystem::exists(settings.clones + "/" + id.text()));
  ran = run(id, "true");
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, "sandbox.destroyed");
}

}  // namespace
