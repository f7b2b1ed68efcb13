#include "vmware/vmrun_command.h"

#include <gtest/gtest.h>

#include "vmware/settings.h"

namespace vmware {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

const policy::SandboxId kId = *policy::SandboxId::parse("sbx-0123456789abcdef0123456789abcdef");

const GuestLogin kLogin{"agent", "hunter2"};
const GuestAt kAt{kId, "/c.vmx", kLogin};

MachineSettings settings() {
  MachineSettings made;
  made.vmrun = "/usr/bin/vmrun";
  made.base_vmx = "/vm/base/base.vmx";
  made.snapshot = "clean";
  made.clones = "/vm/clones";
  made.state = "/vm/state";
  made.guest_user = "agent";
  made.guest_password = "hunter2";
  return made;
}

TEST(VmrunCommand, PutsFlagsBeforeTheVerbAndTheLoginOnlyWhereItIsNeeded) {
  const auto made = settings();
  const auto words = [&](const VmrunCommand& command) { return vmrun_arguments(command.what, kLogin); };
  EXPECT_EQ(words(list_command()), (Words{"-T", "ws", "list"}));
  EXPECT_EQ(words(clone_command("/b.vmx", "/c.vmx", "clean", kId)),
            (Words{"-T", "ws", "clone", "/b.vmx", "/c.vmx", "linked", "-snapshot=clean",
                   "-cloneName=" + kId.text()}));
  EXPECT_EQ(words(start_command("/c.vmx", kId)), (Words{"-T", "ws", "start", "/c.vmx", "nogui"}));
  EXPECT_EQ(words(stop_command("/c.vmx", kId, StopHow::hard)), (Words{"-T", "ws", "stop", "/c.vmx", "hard"}));
  EXPECT_EQ(words(tools_command("/c.vmx", kId)), (Words{"-T", "ws", "checkToolsState", "/c.vmx"}));
  EXPECT_EQ(
      words(copy_in_command(kAt, "/h", "/g", 1s)),
      (Words{"-T", "ws", "-gu", "agent", "-gp", "hunter2", "CopyFileFromHostToGuest", "/c.vmx", "/h", "/g"}));
  EXPECT_EQ(words(capture_command(kAt, "/h.png", 10)),
            (Words{"-T", "ws", "-gu", "agent", "-gp", "hunter2", "captureScreen", "/c.vmx", "/h.png"}));
}

TEST(VmrunCommand, ThePasswordIsNoPartOfTheActionThatIsLogged) {
  for (const auto& command : {list_command(), copy_in_command(kAt, "/h", "/g", 1s),
                              run_command(kAt, {"/bin/true"}, 1s, VmrunTerms::Lane::work)}) {
    for (const auto& word : command.what.arguments) EXPECT_EQ(word.find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(redacted("-gp hunter2 x hunter2", kLogin), "-gp *** x ***");
}

TEST(VmrunCommandDeathTest, AWordForTheGuestsShellHoldsNothingTheShellKnows) {
  for (const auto word : {"", "a b", "$(x)", "`x`", "a;b", "*", "a'b", "a\nb", "~"}) {
    EXPECT_DEATH((void)run_command(kAt, {"/bin/true", word}, 1s, VmrunTerms::Lane::work),
                 "a word for the guest");
  }
}

TEST(MachineSettings, AreRefusedWhenVmrunCouldMisreadThem) {
  EXPECT_TRUE(check_settings(settings()));
  const auto code = [](auto change) {
    auto changed = settings();
    change(changed);
    const auto checked = check_settings(changed);
    return checked ? std::string() : checked.error().code;
  };
  EXPECT_EQ(code([](auto& s) { s.vmrun = "vmrun"; }), "settings.vmrun");
  EXPECT_EQ(code([](auto& s) { s.base_vmx = ""; }), "settings.base_vmx");
  EXPECT_EQ(code([](auto& s) { s.base_vmx = "/vm/base"; }), "settings.base_vmx");
  EXPECT_EQ(code([](auto& s) { s.clones = "/vm/my clones"; }), "settings.clones");
  EXPECT_EQ(code([](auto& s) { s.clones = "/vm/../etc"; }), "settings.clones");
  EXPECT_EQ(code([](auto& s) { s.clones = "/vm/clones/"; }), "settings.clones");
  EXPECT_EQ(code([](auto& s) { s.state = "/vm/st\xC3\xA4te"; }), "settings.state");
  EXPECT_EQ(code([](auto& s) { s.snapshot = "a/b"; }), "settings.snapshot");
  EXPECT_EQ(code([](auto& s) { s.snapshot = "-clean"; }), "settings.snapshot");
  EXPECT_EQ(code([](auto& s) { s.guest_user = "a b"; }), "settings.guest_user");
  EXPECT_EQ(code([](auto& s) { s.guest_password = ""; }), "settings.guest_password");
  EXPECT_EQ(code([](auto& s) { s.guest_password = "-x"; }), "settings.guest_password");
}

TEST(MachineSettings, RefusalsNeverNameThePassword) {
  auto changed = settings();
  changed.guest_password = "-hunter2";
  EXPECT_EQ(check_settings(changed).error().message.find("hunter2"), std::string::npos);
}

TEST(MachineSettings, VmrunSeesOnlyTheVariablesItNeeds) {
  const char* environment[] = {"PATH=/bin",     "SECRET_TOKEN=x", "XDG_RUNTIME_DIR=/run",
                               "VMRUN_FAULT=y", "LD_PRELOAD=z",   "HOME=/home/x",
                               "PATHS=/no",     "broken",         nullptr};
  EXPECT_EQ(vmrun_environment(environment),
            (Words{"PATH=/bin", "XDG_RUNTIME_DIR=/run", "VMRUN_FAULT=y", "HOME=/home/x"}));
}

}  // namespace
}  // namespace vmware
