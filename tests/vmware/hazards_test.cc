#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/vmware/house.h"
#include "vmware/driver.h"
#include "vmware/host_files.h"
#include "vmware/process.h"
#include "vmware/sandbox_marker.h"
#include "vmware/sandboxes.h"

// What vmrun has been seen to do to its callers, done by the stand-in on demand to our driver. The machines
// are real QEMU processes with an empty disk, so they run and never get ready: enough for everything but the
// inside of a guest, which the end-to-end tests have.
namespace vmware {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Hazards : public testing::Test {
 protected:
  void SetUp() override {
    settings.vmrun = SALLYPORT_BIN_DIR "/sallyport-vmrun";
    ASSERT_TRUE(fs::exists(settings.vmrun)) << settings.vmrun;
    runtime = "/tmp/sallyport-hz-" + std::to_string(::getpid());
    fs::create_directory(runtime);
    fs::permissions(runtime, fs::perms::owner_all);
    base = folder.path("base");
    fs::create_directory(base);
    settings.base_vmx = base + "/base.vmx";
    settings.snapshot = "clean";
    settings.guest_user = "agent";
    settings.guest_password = "secret";
    settings.boot_timeout = 1s;
    settings.power_off_patience = 2s;
    use(settings, "one", "");
    folder.write("base/base.vmx",
                 "config.version = \"8\"\nvirtualHW.version = \"19\"\nmemsize = \"128\"\nnumvcpus = \"1\"\n"
                 "qemu.accel = \"tcg\"\nscsi0.present = \"TRUE\"\nscsi0:0.present = \"TRUE\"\n"
                 "scsi0:0.fileName = \"base.qcow2\"\n");
    ASSERT_EQ(shell("qemu-img create -q -f qcow2 " + base + "/base.qcow2 16M"), 0);
    ASSERT_EQ(shell(settings.vmrun + " snapshot " + settings.base_vmx + " clean"), 0);
    open(house, settings);
  }
  void TearDown() override {
    for (auto* at : {&house, &other}) {
      if (!at->machines) continue;
      use_faults("");
      for (const auto& info : at->machines->all()) (void)destroy(*at, info.id);
    }
    EXPECT_EQ(shell(settings.vmrun + " list | grep -q 'VMs: 0' ||  { " + settings.vmrun +
                    " list | tail -n +2 | while read -r vmx; do " + settings.vmrun +
                    " stop \"$vmx\" hard; done; false; }"),
              0)
        << "a machine was left running";
    std::error_code ignored;
    fs::remove_all(runtime, ignored);
  }

  int shell(const std::string& command) const {
    return std::system(
        ("export SALLYPORT_VMRUN_DIR=" + runtime + "; {\n" + command + "\n} > /dev/null").c_str());
  }
  void use(MachineSettings& at, const std::string& name, const std::string& faults) const {
    at.clones = folder.path(name + "-clones");
    at.state = folder.path(name + "-state");
    at.environment = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "SALLYPORT_VMRUN_DIR=" + runtime};
    if (!faults.empty()) at.environment.push_back("VMRUN_FAULT=" + faults);
  }
  void open(house::House& at, const MachineSettings& with) {
    at.open(open_machines(at.thread.io().get_executor(), with, clock));
  }
  // The house again, with a vmrun that has these faults; its machines are swept and so adopted or removed.
  void use_faults(const std::string& faults) {
    use(settings, "one", faults);
    house.machines.reset();
    house.engine.reset();
    open(house, settings);
    house.thread.wait(house.machines->sweep());
  }
  Result<SandboxInfo> try_create() {
    return house.thread.wait(house.machines->create(house.grant(policy::Create{}), nullptr, {}));
  }
  Result<void> destroy(house::House& at, const policy::SandboxId& id) {
    return at.thread.wait(at.machines->destroy(at.grant(policy::Destroy{id, policy::DestroyCause::asked})));
  }
  // No machine runs, and no folder is left of any.
  void expect_nothing_left(const std::string& name = "one") {
    for (const auto& entry : fs::directory_iterator(folder.path(name + "-clones"))) {
      EXPECT_FALSE(entry.is_directory()) << entry.path();
    }
    EXPECT_EQ(shell(settings.vmrun + " list | grep -q 'VMs: 0'"), 0);
  }
  // A clone made and started by vmrun itself.
  std::string started_clone(const std::string& name) {
    const auto vmx = folder.path(name) + "/" + name + ".vmx";
    EXPECT_EQ(shell(settings.vmrun + " clone " + settings.base_vmx + " " + vmx + " linked -snapshot=clean"),
              0);
    EXPECT_EQ(shell(settings.vmrun + " start " + vmx + " nogui"), 0);
    return vmx;
  }
  // A command of the driver alone.
  Result<VmrunReply> drive(VmrunCommand command, const std::string& faults) {
    auto with = settings;
    use(with, "one", faults);
    const auto processes = system_processes();
    fakes::FakeInventory inventory;
    inventory.put({own_id, {"uid:1000"}, policy::Network::none, {}, {}});
    policy::Engine::Parts parts;
    parts.program = std::make_shared<house::AllowAll>();
    parts.sink = &house.sink;
    parts.inventory = &inventory;
    parts.clock = &clock;
    policy::Engine engine(std::move(parts));
    Driver driver(with, *processes);
    driver.attach(engine);
    return house.thread.wait(driver.call(house::caller(), std::move(command), {}));
  }

  house::TempFolder folder;
  fakes::FakeClock clock;
  house::House house{clock}, other{clock};
  MachineSettings settings;
  std::string runtime, base;
  const policy::SandboxId own_id = *policy::SandboxId::parse("sbx-0123456789abcdef0123456789abcdef");
};

TEST_F(Hazards, AMachineThatHoldsTheCallersOutputDoesNotHoldTheCaller) {
  use_faults("hold-stdout");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(try_create().error().code, "guest.not_ready");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  expect_nothing_left();
}

TEST_F(Hazards, ACommandThatHangsIsKilledAndItsOutcomeUnknown) {
  const auto vmx = started_clone("hangs");
  auto command = stop_command(vmx, own_id, StopHow::hard);
  command.terms.deadline = 300ms;
  EXPECT_EQ(drive(command, "hang").error().code, "vmrun.timeout");
  EXPECT_EQ(shell(settings.vmrun + " list | grep -q 'VMs: 1'"), 0);
  EXPECT_TRUE(drive(stop_command(vmx, own_id, StopHow::hard), ""));
}

TEST_F(Hazards, AnErrorWithExitCode0IsAnError) {
  const auto vmx = started_clone("lies");
  EXPECT_EQ(drive(start_command(vmx, own_id), "error-exit-0").error().code, "vm.running");
  EXPECT_EQ(drive(clone_command(settings.base_vmx, folder.path("x/x.vmx"), "none", own_id), "error-exit-0")
                .error()
                .code,
            "snapshot.missing");
  EXPECT_TRUE(drive(stop_command(vmx, own_id, StopHow::hard), ""));
}

TEST_F(Hazards, AFailureWithoutAWordLeavesNothingBehind) {
  for (const char* faults : {"exit-255-no-text@clone", "exit-255-no-text@start"}) {
    use_faults(faults);
    EXPECT_FALSE(try_create()) << faults;
    expect_nothing_left();
  }
}

TEST_F(Hazards, AStopWithoutAWordDoesNotPassForAMachineThatIsOff) {
  use_faults("exit-255-no-text@stop");
  EXPECT_EQ(try_create().error().code, "guest.not_ready");
  ASSERT_EQ(house.machines->all().size(), 1U);  // it runs, so it is kept, and tried again
  EXPECT_EQ(shell(settings.vmrun + " list | grep -q 'VMs: 1'"), 0);
  use_faults("");
  expect_nothing_left();
}

TEST_F(Hazards, AListThatLagsOrSpellsPathsAnewLosesNoMachine) {
  for (const char* faults :
       {"list-lags=1", "path-case", "path-spelling", "usage-mixed", "list-lags=2,exit-255-no-text@stop"}) {
    SCOPED_TRACE(faults);
    use_faults(faults);
    EXPECT_EQ(try_create().error().code, "guest.not_ready");
    use_faults("");
    expect_nothing_left();
  }
}

TEST_F(Hazards, ALockLeftBehindKeepsNoSandbox) {
  use_faults("stale-lck");
  EXPECT_EQ(try_create().error().code, "guest.not_ready");
  expect_nothing_left();
}

TEST_F(Hazards, ABaseInUseIsTriedAgain) {
  use_faults("clone-busy=2");
  EXPECT_EQ(try_create().error().code, "guest.not_ready");  // it was cloned and started
  expect_nothing_left();
}

TEST_F(Hazards, ManyOwnersCloneOneBaseAtOnce) {
  auto second = settings;
  use(second, "two", "");
  open(other, second);
  const auto many = [](house::House& at) {
    std::vector<std::string> codes;
    auto done = std::make_shared<int>(0);
    for (int i = 0; i < 3; ++i) {
      auto work = [](house::House& in, std::vector<std::string>& into,
                     std::shared_ptr<int> count) -> boost::asio::awaitable<void> {
        auto grant = in.grant(policy::Create{});
        auto made = co_await in.machines->create(std::move(grant), nullptr, {});
        into.push_back(made ? "ok" : made.error().code);
        ++*count;
      };
      boost::asio::co_spawn(at.thread.io(), work(at, codes, done), boost::asio::detached);
    }
    const auto end = std::chrono::steady_clock::now() + 120s;
    while (*done < 3 && std::chrono::steady_clock::now() < end) at.thread.io().run_one_for(100ms);
    return codes;
  };
  auto theirs = std::async(std::launch::async, [&] { return many(other); });
  const auto ours = many(house);
  for (const auto& codes : {ours, theirs.get()}) {
    EXPECT_EQ(codes, std::vector<std::string>(3, "guest.not_ready"));
  }
  expect_nothing_left("one");
  expect_nothing_left("two");
  // The base's records hold no clone that is gone, or only until the next one is made.
  EXPECT_LT(fs::file_size(base + "/base.vmsd"), 4096U);
}

// The owner dies while its vmrun waits; what vmrun would do later must not come after the clean-up.
TEST_F(Hazards, ACommandOfADeadOwnerIsEndedBeforeItsSandboxIsClearedAway) {
  use_faults("");
  const SandboxMarker marker{own_id,
                             {"uid:1000"},
                             std::string(32, 'a'),
                             policy::Network::none,
                             SandboxMarker::State::creating,
                             1,
                             2,
                             boot_id(),
                             "0"};
  ASSERT_TRUE(make_marked_folder(settings.clones, marker));
  const auto vmx = settings.clones + "/" + own_id.text() + "/" + own_id.text() + ".vmx";
  ASSERT_EQ(shell("VMRUN_FAULT=hang=30 setsid " + settings.vmrun + " clone " + settings.base_vmx + " " + vmx +
                  " linked -snapshot=clean 2>&1 &"),
            0);
  const auto waits = [&] { return shell("pgrep -f '[c]lone .*" + own_id.text() + "'") == 0; };
  for (int i = 0; i < 200 && !waits(); ++i) ::usleep(20'000);
  ASSERT_TRUE(waits());
  house.thread.wait(house.machines->sweep());
  EXPECT_FALSE(waits());
  expect_nothing_left();
}

TEST_F(Hazards, ASnapshotWithMemoryIsNoSourceOfClones) {
  ASSERT_EQ(shell(settings.vmrun + " start " + settings.base_vmx + " nogui"), 0);
  ASSERT_EQ(shell(settings.vmrun + " snapshot " + settings.base_vmx + " warm"), 0);
  ASSERT_EQ(shell(settings.vmrun + " stop " + settings.base_vmx + " hard"), 0);
  settings.snapshot = "warm";
  use_faults("");
  EXPECT_EQ(try_create().error().code, "snapshot.memory");
  expect_nothing_left();
}

TEST_F(Hazards, ABaseThatRunsOrIsSuspendedIsNotCloned) {
  ASSERT_EQ(shell(settings.vmrun + " start " + settings.base_vmx + " nogui"), 0);
  for (const char* faults : {"", "path-case", "path-spelling"}) {
    use_faults(faults);
    EXPECT_EQ(try_create().error().code, "base.running") << faults;
  }
  ASSERT_EQ(shell(settings.vmrun + " suspend " + settings.base_vmx), 0);
  use_faults("");
  EXPECT_EQ(try_create().error().code, "base.suspended");
  ASSERT_EQ(shell(settings.vmrun + " start " + settings.base_vmx + " nogui"), 0);
  ASSERT_EQ(shell(settings.vmrun + " stop " + settings.base_vmx + " hard"), 0);
}

TEST_F(Hazards, ToolsThatAreOnlyInstalledAreTriedNotBelieved) {
  use_faults("tools-installed,ip-stale");
  EXPECT_EQ(try_create().error().code, "guest.not_ready");
  expect_nothing_left();
}

}  // namespace
}  // namespace vmware
