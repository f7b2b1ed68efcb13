#include "enforcers/vmrun_allowlist.h"

#include <gtest/gtest.h>

#include "enforcers/builtin.h"
#include "tests/enforcers/questions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"

namespace enforcers {
namespace {

using policy::Vmrun;
using policy::VmrunVerb;
using Words = std::vector<std::string>;

const policy::SandboxId kMine = policy::SandboxId::random();
const policy::SandboxId kOther = policy::SandboxId::random();
const std::string kBase = "/base/debian/debian.vmx";
const std::string kToken(32, 'a');

std::string clone_of(const policy::SandboxId& id) {
  return "/state/clones/" + id.text() + "/" + id.text() + ".vmx";
}

VmrunShapes shapes() {
  return {.base_vmx = kBase,
          .images = "/images",
          .image_snapshot = "made",
          .snapshot = "clean",
          .clones = "/state/clones",
          .host_files = "/state/files",
          .guest_prefixes = {"/var/lib/sp/", "/dev/shm/.sp-"},
          .launcher = {"/bin/sh", "/var/lib/sp/launch"},
          .launcher_verbs = {"stop"},
          .fixed_programs = {{"/bin/true"}}};
}

bool allowed(VmrunVerb verb, const std::string& vmx, Words words,
             std::optional<policy::SandboxId> sandbox = kMine) {
  VmrunAllowlist enforcer(shapes());
  policy::Proofs proofs;
  const auto objection =
      enforcer.check(question(Vmrun{verb, vmx, std::move(words), std::move(sandbox)}), {}, proofs);
  if (objection) {
    EXPECT_EQ(objection->code, "vmrun.shape");
  }
  return !objection;
}

TEST(VmrunAllowlist, KnowsImagesByTheirPlace) {
  const std::string mine = clone_of(kMine);
  EXPECT_TRUE(allowed(VmrunVerb::list_snapshots, "/images/deb/deb.vmx", {}, std::nullopt));
  EXPECT_TRUE(allowed(VmrunVerb::clone, "/images/deb/deb.vmx", {mine, "linked", "-snapshot=made"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, "/images/deb/deb.vmx", {mine, "linked", "-snapshot=clean"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, kBase, {mine, "linked", "-snapshot=made"}));
  EXPECT_FALSE(allowed(VmrunVerb::start, "/images/deb/deb.vmx", {"nogui"}));
  for (const char* vmx :
       {"/images/deb/other.vmx", "/images/deb.vmx", "/images/../deb/deb.vmx", "/images/a/b/b.vmx",
        "/images//.vmx", "/images/.h/.h.vmx", "/imagesx/deb/deb.vmx", ""}) {
    EXPECT_FALSE(allowed(VmrunVerb::clone, vmx, {mine, "linked", "-snapshot=made"})) << vmx;
  }
}

TEST(VmrunAllowlist, AllowsTheShapesThatTheDriverNeeds) {
  const std::string mine = clone_of(kMine);
  EXPECT_TRUE(allowed(VmrunVerb::list, "", {}, std::nullopt));
  EXPECT_TRUE(allowed(VmrunVerb::list_snapshots, kBase, {}, std::nullopt));
  EXPECT_TRUE(allowed(VmrunVerb::clone, kBase, {mine, "linked", "-snapshot=clean"}));
  EXPECT_TRUE(
      allowed(VmrunVerb::clone, kBase, {mine, "linked", "-snapshot=clean", "-cloneName=" + kMine.text()}));
  EXPECT_TRUE(allowed(VmrunVerb::start, mine, {"nogui"}));
  EXPECT_TRUE(allowed(VmrunVerb::stop, mine, {"hard"}));
  EXPECT_TRUE(allowed(VmrunVerb::stop, mine, {"soft"}));
  EXPECT_TRUE(allowed(VmrunVerb::delete_vm, mine, {}));
  EXPECT_TRUE(allowed(VmrunVerb::check_tools_state, mine, {}));
  EXPECT_TRUE(allowed(VmrunVerb::run_program, mine, {"/bin/true"}));
  EXPECT_TRUE(allowed(VmrunVerb::run_program, mine, {"/bin/sh", "/var/lib/sp/launch", kToken}));
  EXPECT_TRUE(allowed(VmrunVerb::run_program, mine, {"/bin/sh", "/var/lib/sp/launch", kToken, "stop"}));
  EXPECT_TRUE(allowed(VmrunVerb::file_exists, mine, {"/dev/shm/.sp-" + kToken + ".status"}));
  EXPECT_TRUE(allowed(VmrunVerb::delete_file, mine, {"/var/lib/sp/" + kToken + ".out"}));
  EXPECT_TRUE(allowed(VmrunVerb::copy_to_guest, mine, {"/state/files/x", "/var/lib/sp/launch"}));
  EXPECT_TRUE(
      allowed(VmrunVerb::copy_from_guest, mine, {"/var/lib/sp/" + kToken + ".tar", "/state/files/a/b"}));
  EXPECT_TRUE(allowed(VmrunVerb::capture_screen, mine, {"/state/files/shot.png"}));
}

TEST(VmrunAllowlist, RefusesEveryOtherMachine) {
  for (const std::string& vmx :
       {kBase, clone_of(kOther), std::string(), std::string("/home/me/vm.vmx"), clone_of(kMine) + "/",
        "/state/clones/../clones/" + kMine.text() + "/" + kMine.text() + ".vmx",
        "/state/clones/" + kMine.text() + "/other.vmx"}) {
    EXPECT_FALSE(allowed(VmrunVerb::start, vmx, {"nogui"})) << vmx;
    EXPECT_FALSE(allowed(VmrunVerb::stop, vmx, {"hard"})) << vmx;
    EXPECT_FALSE(allowed(VmrunVerb::delete_vm, vmx, {})) << vmx;
    EXPECT_FALSE(allowed(VmrunVerb::run_program, vmx, {"/bin/true"})) << vmx;
  }
  EXPECT_FALSE(allowed(VmrunVerb::delete_vm, clone_of(kMine), {}, std::nullopt));
  EXPECT_FALSE(allowed(VmrunVerb::delete_vm, clone_of(kMine), {}, kOther));
  EXPECT_FALSE(allowed(VmrunVerb::clone, clone_of(kMine), {clone_of(kMine), "linked", "-snapshot=clean"}));
}

TEST(VmrunAllowlist, RefusesOtherArguments) {
  const std::string mine = clone_of(kMine);
  const std::string other = clone_of(kOther);
  EXPECT_FALSE(allowed(VmrunVerb::list, kBase, {}));
  EXPECT_FALSE(allowed(VmrunVerb::list, "", {"-x"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, kBase, {other, "linked", "-snapshot=clean"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, kBase, {mine, "full", "-snapshot=clean"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, kBase, {mine, "linked", "-snapshot=other"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, kBase, {mine, "linked"}));
  EXPECT_FALSE(allowed(VmrunVerb::clone, kBase, {mine, "linked", "-snapshot=clean"}, std::nullopt));
  EXPECT_FALSE(allowed(VmrunVerb::start, mine, {}));
  EXPECT_FALSE(allowed(VmrunVerb::start, mine, {"gui"}));
  EXPECT_FALSE(allowed(VmrunVerb::stop, mine, {}));
  EXPECT_FALSE(allowed(VmrunVerb::delete_vm, mine, {"x"}));
}

TEST(VmrunAllowlist, RefusesEveryProgramButTheLauncherWithOneToken) {
  const std::string mine = clone_of(kMine);
  const auto program = [&](Words words) { return allowed(VmrunVerb::run_program, mine, std::move(words)); };
  const std::string sh = "/bin/sh";
  const std::string launch = "/var/lib/sp/launch";
  EXPECT_FALSE(program({}));
  EXPECT_FALSE(program({"/bin/true", "x"}));
  EXPECT_FALSE(program({sh}));
  EXPECT_FALSE(program({sh, "-c", "id"}));
  EXPECT_FALSE(program({sh, launch}));
  EXPECT_FALSE(program({sh, launch, "id"}));
  EXPECT_FALSE(program({sh, launch, std::string(31, 'a')}));
  EXPECT_FALSE(program({sh, launch, std::string(33, 'a')}));
  EXPECT_FALSE(program({sh, launch, std::string(32, 'A')}));
  EXPECT_FALSE(program({sh, launch, std::string(31, 'a') + ";"}));
  EXPECT_FALSE(program({sh, launch, kToken, "other"}));
  EXPECT_FALSE(program({sh, launch, kToken, "stop", "x"}));
}

TEST(VmrunAllowlist, RefusesFilesElsewhere) {
  const std::string mine = clone_of(kMine);
  for (const std::string path :
       {"/etc/passwd", "/var/lib/sp", "/var/lib/sp/", "/var/lib/sp/../../../etc/passwd", "/var/lib/sp/./x",
        "/var/lib/sp//x", "/var/lib/spx/y", "/var/lib/sp/..", "/var/lib/sp/a b", "/var/lib/sp/a;b",
        "/var/lib/sp/a/b", "var/lib/sp/x", "/dev/shm/.sp-", "/dev/shm/.sp-/x", "/dev/shm/x", ""}) {
    EXPECT_FALSE(allowed(VmrunVerb::delete_file, mine, {path})) << path;
    EXPECT_FALSE(allowed(VmrunVerb::copy_to_guest, mine, {"/state/files/x", path})) << path;
    EXPECT_FALSE(allowed(VmrunVerb::copy_from_guest, mine, {path, "/state/files/x"})) << path;
  }
  for (const std::string path :
       {"/etc/shadow", "/state/files", "/state/files/../audit/log", "/state/clones/x"}) {
    EXPECT_FALSE(allowed(VmrunVerb::copy_to_guest, mine, {path, "/var/lib/sp/x"})) << path;
    EXPECT_FALSE(allowed(VmrunVerb::copy_from_guest, mine, {"/var/lib/sp/x", path})) << path;
    EXPECT_FALSE(allowed(VmrunVerb::capture_screen, mine, {path})) << path;
  }
}

TEST(VmrunAllowlist, KnowsNothingWhenNothingWasSetUp) {
  VmrunAllowlist enforcer(VmrunShapes{});
  policy::Proofs proofs;
  EXPECT_TRUE(enforcer.check(question(Vmrun{VmrunVerb::start, "", {"nogui"}, std::nullopt}), {}, proofs));
  EXPECT_TRUE(enforcer.check(question(Vmrun{VmrunVerb::list_snapshots, "", {}, std::nullopt}), {}, proofs));
  EXPECT_TRUE(
      enforcer.check(question(Vmrun{VmrunVerb::run_program, clone_of(kMine), {kToken}, kMine}), {}, proofs));
}

TEST(InputGate, RefusesInputUnlessItIsOn) {
  policy::Proofs proofs;
  for (const auto& [setting, code] :
       {std::pair{RemoteInput::off, "input.off"}, std::pair{RemoteInput::on, "input.unavailable"}}) {
    InputGate gate(setting);
    for (const policy::Action& action :
         {policy::Action(policy::Click{kMine}), policy::Action(policy::TypeText{kMine, "x"}),
          policy::Action(policy::PressKey{kMine, "a"})}) {
      const auto objection = gate.check(question(action), {}, proofs);
      ASSERT_TRUE(objection);
      EXPECT_EQ(objection->code, code);
    }
    EXPECT_FALSE(gate.check(question(policy::Screenshot{kMine}), {}, proofs));
  }
}

TEST(Builtin, NamesEveryEnforcerInItsOrder) {
  fakes::FakeInventory inventory;
  fakes::FakeClock clock;
  BuiltinParts parts;
  parts.inventory = &inventory;
  parts.clock = &clock;
  std::vector<std::string> names;
  for (const auto& enforcer : builtin(std::move(parts))) names.emplace_back(enforcer->name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"vmrun_allowlist", "input_gate", "web_gate", "path_jail", "limits"}));
}

}  // namespace
}  // namespace enforcers
