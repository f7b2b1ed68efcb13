#include "vmware/sandboxes.h"

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <boost/asio/detached.hpp>

#include "policy/reservation.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_vmrun.h"
#include "tests/vmware/house.h"
#include "vmware/sandbox_marker.h"

namespace vmware {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
namespace fs = std::filesystem;

class Sandboxes : public testing::Test {
 protected:
  Sandboxes() {
    settings.vmrun = "/usr/bin/vmrun";
    settings.base_vmx = fakes::make_base(folder.path("base"));
    settings.snapshot = "clean";
    settings.clones = folder.path("clones");
    settings.state = folder.path("state");
    settings.guest_user = "agent";
    settings.guest_password = "secret";
    settings.boot_timeout = 1s;
    open(house);
  }

  void open(house::House& at) {
    auto fake = std::make_unique<fakes::FakeVmrun>();
    auto* const before = vmrun;
    vmrun = fake.get();
    if (before != nullptr) vmrun->running = before->running;
    at.open(open_machines(at.thread.io().get_executor(), settings, clock, std::move(fake)));
  }
  Result<SandboxInfo> try_create(policy::Network network = policy::Network::none, std::stop_token stop = {}) {
    return house.thread.wait(house.machines->create(house.grant(policy::Create{network}), nullptr, stop));
  }
  policy::SandboxId create() {
    auto made = try_create();
    if (!made) throw std::runtime_error(made.error().code + ": " + made.error().message);
    return made->id;
  }
  Result<JobView> run(const policy::SandboxId& id, std::string command = "true", std::stop_token stop = {}) {
    policy::Run what{id, std::move(command), 30s};
    return house.thread.wait(house.machines->run(house.grant(what), 45s, nullptr, stop));
  }
  Result<JobView> start(const policy::SandboxId& id) {
    return house.thread.wait(house.machines->start(house.grant(policy::Start{id, "sleep 9"}), {}));
  }
  Result<JobView> check(const policy::SandboxId& id, const policy::JobId& job) {
    return house.thread.wait(house.machines->check(house.grant(policy::Check{id, job}), {}));
  }
  Result<void> destroy(const policy::SandboxId& id) {
    return house.thread.wait(
        house.machines->destroy(house.grant(policy::Destroy{id, policy::DestroyCause::asked})));
  }
  std::string home(const policy::SandboxId& id) const { return settings.clones + "/" + id.text(); }
  std::size_t folders() const {
    std::size_t found = 0;
    for (const auto& entry : fs::directory_iterator(settings.clones)) found += entry.is_directory() ? 1 : 0;
    return found;
  }
  // The code of the outcome of the last closed decision of this kind.
  std::string outcome(std::string_view action) {
    std::string code;
    for (const auto& closed : house.sink.outcomes()) {
      if (policy::name_of(closed.request.what) == action) code = closed.outcome.code;
    }
    return code;
  }

  house::TempFolder folder;
  fakes::FakeClock clock;
  house::House house{clock};
  MachineSettings settings;
  fakes::FakeVmrun* vmrun = nullptr;
};

TEST_F(Sandboxes, AreClonedRewrittenStartedAndDestroyed) {
  vmrun->extra_vmx = "serial0.present = \"TRUE\"\nserial0.fileName = \"/etc/x\"\n";
  vmrun->tools_late = 2;
  const auto id = create();
  EXPECT_EQ(outcome("create"), "ok");
  EXPECT_EQ(vmrun->running.size(), 1U);
  const auto vmx = house::slurp(home(id) + "/" + id.text() + ".vmx");
  EXPECT_NE(vmx.find("serial0.present = \"FALSE\""), std::string::npos);
  EXPECT_EQ(vmx.find("/etc/x"), std::string::npos);
  const auto marker = guard(settings.clones, id);
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->state, SandboxMarker::State::ready);
  EXPECT_EQ(marker->owner.text, "uid:1000");
  EXPECT_EQ(house.machines->count(nullptr), 1U);
  EXPECT_EQ(house.machines->find(id)->owner.text, "uid:1000");

  ASSERT_TRUE(destroy(id));
  EXPECT_TRUE(vmrun->running.empty());
  EXPECT_FALSE(fs::exists(home(id)));
  EXPECT_EQ(house.machines->count(nullptr), 0U);
  EXPECT_EQ(run(id).error().code, "sandbox.destroyed");
  EXPECT_TRUE(destroy(id));  // again
}

TEST_F(Sandboxes, EveryVmrunCommandIsDecidedAndHasItsOutcome) {
  const auto id = create();
  ASSERT_TRUE(run(id));
  ASSERT_TRUE(destroy(id));
  std::size_t decided = 0;
  for (const auto& recorded : house.sink.decisions()) {
    decided += policy::name_of(recorded.decision.request.what) == "vmrun" ? 1 : 0;
  }
  EXPECT_EQ(decided, vmrun->calls.size());
  EXPECT_EQ(house.sink.decisions().size(), house.sink.outcomes().size());
}

TEST_F(Sandboxes, NothingOfTheCommandStandsInAnArgv) {
  const auto id = create();
  std::string sent;
  vmrun->guest = [&](const std::string& request) {
    sent = request;
    return GuestReport{JobStatus::exited, 0, {}, {}, {}};
  };
  ASSERT_TRUE(run(id, "echo CANARY"));
  EXPECT_NE(sent.find("echo CANARY"), std::string::npos);
  for (const auto& words : vmrun->calls) {
    for (const auto& word : words) EXPECT_EQ(word.find("CANARY"), std::string::npos);
  }
}

TEST_F(Sandboxes, ARolledBackCreateLeavesNothing) {
  const struct {
    const char* name;
    std::function<void(fakes::FakeVmrun&)> fault;
    const char* code;
  } cases[] = {
      {"no snapshot", [](auto& v) { v.snapshots = {"other"}; }, "snapshot.missing"},
      {"two snapshots", [](auto& v) { v.snapshots = {"clean", "clean"}; }, "snapshot.missing"},
      {"a disk on top of a file of the host", [](auto& v) { v.backing = "/etc/passwd"; }, "disk.elsewhere"},
      {"a disk on top of a protocol", [](auto& v) { v.backing = "json:{}"; }, "disk.elsewhere"},
      {"start fails", [](auto& v) { v.start_fails = true; }, "vm.blocked"},
      {"never ready", [](auto& v) { v.tools_late = 1000; }, "guest.not_ready"},
      {"bad disk",
       [](auto& v) { v.extra_vmx = "scsi0:1.present = \"TRUE\"\nscsi0:1.fileName = \"/x.vmdk\"\n"; },
       "vmx.value"},
      {"encrypted", [](auto& v) { v.extra_vmx = "encryption.data = \"x\"\n"; }, "vmx.encrypted"},
      {"duplicate key", [](auto& v) { v.extra_vmx = "CONFIG.version = \"9\"\n"; }, "vmx.duplicate"},
      {"base locked for good", [](auto& v) { v.clones_locked = 100; }, "vm.locked"},
  };
  for (const auto& one : cases) {
    open(house);
    one.fault(*vmrun);
    const auto made = try_create();
    ASSERT_FALSE(made) << one.name;
    EXPECT_EQ(made.error().code, one.code) << one.name;
    EXPECT_EQ(folders(), 0U) << one.name;
    EXPECT_TRUE(vmrun->running.empty()) << one.name;
    EXPECT_EQ(house.machines->count(nullptr), 0U) << one.name;
    EXPECT_EQ(outcome("create"), one.code) << one.name;
  }
}

TEST_F(Sandboxes, AnImageIsClonedByItsNameAndItsLogin) {
  const auto other = fakes::make_base(folder.path("images/other"));
  settings.find_image = [other](const std::string& name) -> Result<Base> {
    if (name != "other") return policy::fail("image.unknown", "no");
    return Base{other, "clean", {"guest", "different"}};
  };
  open(house);
  vmrun->password = "different";
  policy::Create what;
  what.image = "other";
  const auto make = [&] {
    return house.thread.wait(house.machines->create(house.grant(policy::Create(what)), nullptr, {}));
  };
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(guard(settings.clones, made->id)->image, "other");
  EXPECT_EQ(vmrun->count(other), 2U);  // listSnapshots and clone
  EXPECT_EQ(vmrun->count(settings.base_vmx), 0U);
  EXPECT_TRUE(run(made->id));
  what.image = "nowhere";
  EXPECT_EQ(make().error().code, "image.unknown");
  EXPECT_EQ(folders(), 1U);
}

TEST_F(Sandboxes, ARunningBaseIsNotCloned) {
  vmrun->running.insert(settings.base_vmx);
  EXPECT_EQ(try_create().error().code, "base.running");
}

TEST_F(Sandboxes, ABaseThatIsBrieflyInUseIsTriedAgain) {
  vmrun->clones_locked = 1;
  EXPECT_TRUE(try_create());
}

TEST_F(Sandboxes, AStartThatHangsButStartedIsASuccess) {
  vmrun->start_hangs = true;
  EXPECT_TRUE(try_create());
}

// Leaves a place in every grant, and counts what is said of it.
class Places final : public policy::Enforcer {
 public:
  explicit Places(std::function<void()> counted) : counted_(std::move(counted)) {}
  std::string_view name() const override { return "places"; }
  std::optional<policy::Objection> check(const policy::Request&, std::span<const policy::Limit>,
                                         policy::Proofs& proofs) noexcept override {
    proofs.put<policy::Reservation>(std::make_unique<Place>(counted_));
    return std::nullopt;
  }

 private:
  struct Place final : policy::Reservation {
    explicit Place(std::function<void()> given) : counted(std::move(given)) {}
    void counted_elsewhere() override { counted(); }
    std::function<void()> counted;
  };
  std::function<void()> counted_;
};

TEST_F(Sandboxes, ASandboxInTheMakingAndAStartedCommandTakeOnePlaceAndNotTwo) {
  std::vector<std::size_t> calls_then;
  house.enforcers.push_back(std::make_unique<Places>([&] { calls_then.push_back(vmrun->calls.size()); }));
  open(house);
  const auto id = create();
  // Before the first vmrun command, which is when the machine begins to be counted as there.
  ASSERT_EQ(calls_then, std::vector<std::size_t>{0});
  const auto before = vmrun->calls.size();
  (void)start(id);
  ASSERT_EQ(calls_then.size(), 2U);
  EXPECT_EQ(calls_then[1], before);
}

TEST_F(Sandboxes, AMachineThatDiesWhileItStartsIsNotWaitedFor) {
  settings.boot_timeout = 60s;
  open(house);
  vmrun->tools_late = 100000;
  vmrun->dies_at_question = 3;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(try_create().error().code, "guest.gone");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  EXPECT_EQ(folders(), 0U);
}

TEST_F(Sandboxes, WebIsNotSetUp) {
  EXPECT_EQ(try_create(policy::Network::web).error().code, "network.web");
  EXPECT_TRUE(vmrun->calls.empty());
}

TEST_F(Sandboxes, SettingsThatAreWrongAreSaidAtTheFirstCall) {
  settings.guest_password = "-x";
  open(house);
  EXPECT_EQ(try_create().error().code, "settings.guest_password");
  EXPECT_FALSE(fs::exists(settings.clones));
}

TEST_F(Sandboxes, ACreateThatIsCancelledLeavesNothing) {
  vmrun->tools_late = 100000;
  settings.boot_timeout = 60s;
  open(house);
  vmrun->tools_late = 100000;
  std::stop_source stop;
  boost::asio::steady_timer later(house.thread.io(), 300ms);
  later.async_wait([&](boost::system::error_code) { stop.request_stop(); });
  EXPECT_EQ(try_create(policy::Network::none, stop.get_token()).error().code, "cancelled");
  EXPECT_EQ(folders(), 0U);
  EXPECT_TRUE(vmrun->running.empty());
}

TEST_F(Sandboxes, AWrongGuestLoginIsSaid) {
  vmrun->password = "other";
  settings.boot_timeout = 1s;
  const auto made = try_create();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("refused the login"), std::string::npos) << made.error().message;
  EXPECT_EQ(made.error().message.find("secret"), std::string::npos);
}

TEST_F(Sandboxes, ARunGivesWhatTheCommandDid) {
  const auto id = create();
  vmrun->guest = [](const std::string&) {
    GuestReport report;
    report.status = JobStatus::exited;
    report.exit_code = 3;
    report.out = StreamView{"out", 0, 3, false};
    return report;
  };
  const auto view = run(id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->exit_code, 3);
  EXPECT_EQ(view->out.bytes, "out");
  EXPECT_EQ(outcome("run"), "ok");
  // What it left is on the host; looking again asks nobody.
  const auto calls = vmrun->calls.size();
  const auto again = check(id, view->job);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->out.bytes, "out");
  EXPECT_EQ(vmrun->calls.size(), calls);
}

TEST_F(Sandboxes, ARunPastItsTimeGoesOnAsAJob) {
  const auto id = create();
  vmrun->guest = [](const std::string&) { return GuestReport(); };
  const auto view = run(id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->status, JobStatus::running);
  EXPECT_EQ(outcome("run"), "running");
  EXPECT_EQ(house.machines->running_jobs(id), 1U);
  vmrun->jobs()[std::string(view->job.hex())].status = JobStatus::exited;
  EXPECT_EQ(check(id, view->job)->status, JobStatus::exited);
  EXPECT_EQ(house.machines->running_jobs(id), 0U);
}

TEST_F(Sandboxes, JobsAreStartedCountedStoppedAndRecounted) {
  const auto id = create();
  vmrun->guest = [](const std::string&) { return GuestReport(); };
  const auto first = start(id);
  const auto second = start(id);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(house.machines->running_jobs(id), 2U);
  const auto stopped = house.thread.wait(house.machines->stop(house.grant(policy::Stop{id, first->job}), {}));
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->status, JobStatus::stopped);
  EXPECT_EQ(house.machines->running_jobs(id), 1U);
  vmrun->jobs()[std::string(second->job.hex())].status = JobStatus::exited;
  house.thread.wait(house.machines->recount(house::caller(), id));
  EXPECT_EQ(house.machines->running_jobs(id), 0U);
  EXPECT_EQ(check(id, policy::JobId::random()).error().code, "job.unknown");
}

TEST_F(Sandboxes, AJobOfARebootedGuestIsLost) {
  const auto id = create();
  vmrun->guest = [](const std::string&) { return GuestReport(); };
  const auto job = start(id);
  ASSERT_TRUE(job);
  const auto launcher = vmrun->files;
  vmrun->reboot();
  EXPECT_EQ(check(id, job->job)->status, JobStatus::lost);
  EXPECT_EQ(house.machines->running_jobs(id), 0U);
}

TEST_F(Sandboxes, AForgedReportCostsItsOwnCallOnly) {
  const auto id = create();
  for (const auto& bytes : {std::string(), std::string("exited 0"), std::string(3 << 20, 'x')}) {
    vmrun->forged = [&](const std::string&) { return std::optional(bytes); };
    const auto view = run(id);
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code, "guest.report");
  }
  vmrun->forged = nullptr;
  EXPECT_TRUE(run(id));
}

TEST_F(Sandboxes, AGuestWithoutToolsOrPowerCostsItsOwnCallOnly) {
  const auto id = create();
  vmrun->guest_error = "The VMware Tools are not running in the virtual machine";
  EXPECT_EQ(run(id).error().code, "guest.not_ready");
  vmrun->guest_error.reset();
  EXPECT_TRUE(run(id));
  vmrun->running.clear();
  EXPECT_EQ(run(id).error().code, "guest.gone");
  EXPECT_EQ(house.machines->all().at(0).state, SandboxState::lost);
  EXPECT_TRUE(destroy(id));
}

TEST_F(Sandboxes, ALostLauncherIsPutBack) {
  const auto id = create();
  vmrun->launcher_lost = true;
  EXPECT_TRUE(run(id));
}

TEST_F(Sandboxes, ACancelledRunIsKilledInTheGuest) {
  const auto id = create();
  std::stop_source stop;
  boost::asio::steady_timer later(house.thread.io(), 200ms);
  later.async_wait([&](boost::system::error_code) { stop.request_stop(); });
  vmrun->guest = [&](const std::string&) {
    vmrun->until_stopped = true;
    return GuestReport();
  };
  EXPECT_EQ(run(id, "sleep 9", stop.get_token()).error().code, "cancelled");
  ASSERT_EQ(vmrun->jobs().size(), 1U);
  EXPECT_EQ(vmrun->jobs().begin()->second.status, JobStatus::stopped);
}

TEST_F(Sandboxes, ADestroyEndsWhatRunsInIt) {
  const auto id = create();
  vmrun->guest = [&](const std::string&) {
    vmrun->until_stopped = true;
    return GuestReport();
  };
  boost::asio::steady_timer later(house.thread.io(), 200ms);
  auto grant = std::make_shared<policy::Grant<policy::Destroy>>(
      house.grant(policy::Destroy{id, policy::DestroyCause::asked}));
  later.async_wait([&](boost::system::error_code) {
    boost::asio::co_spawn(house.thread.io(), house.machines->destroy(std::move(*grant)),
                          boost::asio::detached);
  });
  EXPECT_EQ(run(id, "sleep 9").error().code, "sandbox.destroyed");
  EXPECT_TRUE(destroy(id));
  EXPECT_EQ(house.machines->count(nullptr), 0U);
}

TEST_F(Sandboxes, AMachineThatDoesNotGoIsKeptAndTriedAgain) {
  const auto id = create();
  vmrun->list_lags = 2;
  vmrun->delete_fails = true;
  EXPECT_TRUE(destroy(id));
  EXPECT_FALSE(fs::exists(home(id)));
}

TEST_F(Sandboxes, AFolderWithoutOurMarkerIsNotDestroyed) {
  const auto id = create();
  fs::rename(home(id) + "/" + std::string(kMarkerName), folder.path("marker"));
  fs::create_directory_symlink("/etc", home(id) + "/link");
  folder.write("clones/" + id.text() + "/" + std::string(kMarkerName), "{}");
  EXPECT_EQ(destroy(id).error().code, "marker.malformed");
  EXPECT_EQ(vmrun->count("deleteVM"), 0U);
  EXPECT_TRUE(fs::exists(home(id)));
}

TEST_F(Sandboxes, ExpireAndSaySo) {
  settings.max_age = 60s;
  open(house);
  const auto id = create();
  clock.advance(59s);
  EXPECT_TRUE(run(id));
  clock.advance(2s);
  EXPECT_EQ(run(id).error().code, "sandbox.expired");
  house.thread.wait(house.machines->sweep());
  EXPECT_EQ(house.machines->count(nullptr), 0U);
  EXPECT_FALSE(fs::exists(home(id)));
  const auto error = run(id).error();
  EXPECT_EQ(error.code, "sandbox.expired");
  EXPECT_NE(error.message.find("2026-01-01T00:01:01Z"), std::string::npos) << error.message;
}

TEST_F(Sandboxes, DoNotExpireBecauseSomebodySetTheClock) {
  settings.max_age = 60s;
  open(house);
  const auto id = create();
  clock.jump_wall(24h);
  house.thread.wait(house.machines->sweep());
  EXPECT_TRUE(run(id));
}

TEST_F(Sandboxes, AreExtendedWithinPolicy) {
  policy::Limit limit;
  limit.meter = policy::Meter::sandbox_age;
  limit.max = 100;
  house::House strict(clock, {limit});
  settings.max_age = 60s;
  open(strict);
  const auto made = strict.thread.wait(strict.machines->create(strict.grant(policy::Create{}), nullptr, {}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->expires - made->created, 60s);
  const auto longer = strict.machines->extend(strict.grant(policy::Extend{made->id, 1000s}));
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->expires - longer->created, 100s);
  EXPECT_EQ(guard(settings.clones, made->id)->expires, longer->expires.time_since_epoch().count());
  const auto more = strict.machines->extend(strict.grant(policy::Extend{made->id, 1000s}));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, "limit.sandbox_age");
}

TEST_F(Sandboxes, OfADeadOwnerAreAdoptedWhileTheyRun) {
  auto first = std::make_unique<house::House>(clock);
  open(*first);
  const auto made = first->thread.wait(first->machines->create(first->grant(policy::Create{}), nullptr, {}));
  ASSERT_TRUE(made);
  const auto jobs = vmrun->jobs();

  // While its owner lives, it is left alone.
  open(house);
  house.thread.wait(house.machines->sweep());
  EXPECT_EQ(house.machines->count(nullptr), 0U);
  EXPECT_TRUE(fs::exists(home(made->id)));

  const auto running = vmrun->running;
  first.reset();
  vmrun->running = running;
  house.thread.wait(house.machines->sweep());
  ASSERT_EQ(house.machines->count(nullptr), 1U);
  EXPECT_EQ(house.machines->all().at(0).owner.text, "uid:1000");
  EXPECT_TRUE(destroy(made->id));
}

TEST_F(Sandboxes, OfADeadOwnerAreDestroyedWhenTheyDoNotRunOrItIsTooLate) {
  for (const bool running : {false, true}) {
    auto first = std::make_unique<house::House>(clock);
    open(*first);
    const auto made =
        first->thread.wait(first->machines->create(first->grant(policy::Create{}), nullptr, {}));
    ASSERT_TRUE(made);
    settings.reattach = running ? std::chrono::seconds(-1) : std::chrono::seconds(600);
    open(house);
    if (!running) vmrun->running.clear();
    first.reset();
    house.thread.wait(house.machines->sweep());
    EXPECT_EQ(house.machines->count(nullptr), 0U);
    EXPECT_FALSE(fs::exists(home(made->id)));
    EXPECT_TRUE(vmrun->running.empty());
  }
}

TEST_F(Sandboxes, SweepingTouchesNothingWithoutOurMarker) {
  create();
  fs::create_directories(settings.clones + "/somebodys");
  fs::create_directories(settings.clones + "/" + policy::SandboxId::random().text());
  house.thread.wait(house.machines->sweep());
  EXPECT_EQ(folders(), 3U);
}

TEST_F(Sandboxes, CopiesGoInAndOutThroughTars) {
  const auto id = create();
  const auto tar = folder.write("in.tar", "tar bytes");
  policy::CopyIn in{id, *policy::HostPath::parse("x"), *policy::GuestPath::parse("/home/agent/x"), {}};
  const auto put = [&] {
    return house.thread.wait(house.machines->put(house.grant(in), StagedFile{tar, 9}, CopyShape::file, {}));
  };
  EXPECT_TRUE(put());
  vmrun->exit_of = [](const std::string&) { return 103; };
  EXPECT_EQ(put().error().code, "copy.no_parent");
  vmrun->exit_of = [](const std::string&) { return 98; };
  EXPECT_EQ(put().error().code, "copy.timeout");

  policy::FetchOut out{id, *policy::GuestPath::parse("/home/agent/x"), *policy::HostPath::parse("x")};
  std::string packed = "packed";
  vmrun->exit_of = [&](const std::string& request) {
    const auto at = request.find("tar='") + 5;
    vmrun->files[request.substr(at, request.find('\'', at) - at)] = packed;
    return 100;
  };
  auto fetched = house.thread.wait(house.machines->fetch(house.grant(out), folder.path("out.tar"), 100, {}));
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(house::slurp(folder.path("out.tar")), "packed");
  // A guest that lies about the size is found out by what arrives.
  packed = std::string(101, 'x');
  fetched = house.thread.wait(house.machines->fetch(house.grant(out), folder.path("big.tar"), 100, {}));
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, "copy.too_large");
  EXPECT_FALSE(fs::exists(folder.path("big.tar")));
}

TEST_F(Sandboxes, AScreenshotIsAPngOrNothing) {
  const auto id = create();
  const auto shoot = [&] {
    return house.thread.wait(house.machines->screenshot(house.grant(policy::Screenshot{id}), {}));
  };
  vmrun->png =
      "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\2\x80\0\0\1\xe0\x08\2\0\0\0"
      "crc.data\0\0\0\0IEND\xae\x42\x60\x82"s;
  ASSERT_TRUE(shoot());
  EXPECT_EQ(shoot()->size(), vmrun->png.size());
  vmrun->png = "<html>";
  EXPECT_EQ(shoot().error().code, "screenshot.damaged");
  vmrun->png = std::string(17 << 20, 'x');
  EXPECT_EQ(shoot().error().code, "vmrun.overgrown");
  EXPECT_TRUE(fs::is_empty(settings.state + "/staging"));
}

TEST_F(Sandboxes, AreListedToTheirOwnerOnly) {
  const auto id = create();
  EXPECT_EQ(house.machines->list(house.grant(policy::List{}))->size(), 1U);
  EXPECT_EQ(house.machines->list(house.grant(policy::List{}, house::caller("uid:1001")))->size(), 0U);
  EXPECT_THROW((void)house.grant(policy::Check{id, policy::JobId::random()}, house::caller("uid:1001")),
               std::runtime_error);
}

TEST_F(Sandboxes, ALogThatFailsKeepsWorkFromStartingButNotMachinesFromEnding) {
  const auto id = create();
  auto grant = house.grant(policy::Destroy{id, policy::DestroyCause::asked});
  policy::Run what{id, "true", 30s};
  auto run_grant = house.grant(what);
  house.sink.fail_with(policy::Error{"audit.failed", "disk full"});
  EXPECT_FALSE(house.thread.wait(house.machines->run(std::move(run_grant), 45s, nullptr, {})));
  EXPECT_TRUE(house.thread.wait(house.machines->destroy(std::move(grant))));
  EXPECT_TRUE(vmrun->running.empty());
  EXPECT_FALSE(fs::exists(home(id)));
}

TEST(Settled, ResumesOnTheDecidingThreadWhenTheLogAnswersFromItsOwn) {
  fakes::FakeClock clock;
  house::Thread thread;
  fakes::FakeSink sink;
  policy::Engine::Parts parts;
  parts.program = std::make_shared<house::AllowAll>();
  parts.sink = &sink;
  parts.clock = &clock;
  policy::Engine engine(std::move(parts));
  sink.stall();
  auto pending = engine.decide(house::caller(), policy::List{});
  std::thread log([&] {
    std::this_thread::sleep_for(50ms);
    sink.release();
  });
  auto verdict = thread.wait(settled(std::move(pending)));
  log.join();
  ASSERT_TRUE(std::holds_alternative<policy::Grant<policy::List>>(verdict));
  (void)std::get<policy::Grant<policy::List>>(verdict).close({.ok = true, .code = "ok"});
}

}  // namespace
}  // namespace vmware
