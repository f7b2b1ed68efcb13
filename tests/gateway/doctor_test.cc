// Every check of `sallyport doctor`, each where it fails beside where it does not.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/doctor/examine.h"
#include "gateway/doctor/journey.h"
#include "gateway/doctor/program.h"
#include "gateway/settings/folder.h"
#include "tests/fakes/disk_images.h"

namespace gateway::doctor {
namespace {

using Json = nlohmann::json;

// A computer of empty files and small scripts on which all is well, to be spoilt at one place.
class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sallyport-doctor-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* part : {"/base", "/bin", "/transfer"}) std::filesystem::create_directory(folder_ + part);
    program("sallyport-vmrun", "printf 'own-uid: yes; 1\\nlandlock: yes; 3\\nkvm: yes; open\\n'");
    for (const char* tool : {"qemu-system-x86_64", "qemu-img", "mmdebstrap"}) program(tool, "echo version 7");
    settings_.state_dir = folder_ + "/state";
    settings_.transfer_dir = folder_ + "/transfer";
    settings_.base_vmx = fakes::make_base(folder_ + "/base");
    settings_.vmrun = folder_ + "/bin/sallyport-vmrun";
    settings_.guest_user = "agent";
    settings_.guest_password = Secret("throw-away");
    host_.program_folders = {folder_ + "/bin"};
    host_.kvm = folder_ + "/kvm";
    std::ofstream(host_.kvm) << "";
    host_.user = "somebody";
    host_.least_free = 0;
    host_.enough_free = 0;
    host_.system_policies = folder_ + "/policy.d";
    host_.trusted = ::geteuid();
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  void program(const std::string& name, const std::string& does) const {
    const auto path = folder_ + "/bin/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << does << "\n";
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  Report examined() const {
    Report report;
    examine(settings_, host_, report);
    return report;
  }
  // The worst finding of a check.
  static Finding worst(const Report& report, std::string_view check) {
    Finding found{std::string(check), Health::skipped, "nothing was found"};
    for (const auto& one : report.findings) {
      if (one.check != check) continue;
      if (found.health == Health::skipped || found.health == Health::good || one.health == Health::bad)
        found = one;
    }
    return found;
  }
  void expect(Health health, std::string_view check, std::string_view mend) const {
    const auto report = examined();
    const auto found = worst(report, check);
    EXPECT_EQ(found.health, health) << to_text(report);
    EXPECT_NE(found.mend.find(mend), std::string::npos) << found.mend;
    EXPECT_EQ(report.healthy(), health != Health::bad);
  }

  std::string folder_;
  Settings settings_;
  Host host_;
};

TEST_F(DoctorTest, FindsNothingWhereAllIsWell) {
  const auto report = examined();
  EXPECT_TRUE(report.healthy());
  for (const char* check : {"settings", "policy", "tools", "image", "permissions", "overlap", "accelerator",
                            "confinement", "disk"}) {
    EXPECT_EQ(worst(report, check).health, Health::good) << check << "\n" << to_text(report);
  }
}

TEST_F(DoctorTest, FindsAWrongSetting) {
  settings_.problems.push_back({"settings.count", "`max_sandboxes` must be a number", "sallyport.yaml:3:1"});
  expect(Health::bad, "settings", "sallyport settings");
}

TEST_F(DoctorTest, FindsAMissingVmrun) {
  settings_.vmrun = folder_ + "/bin/none";
  expect(Health::bad, "tools", "vmrun");
}

TEST_F(DoctorTest, FindsABaseMachineOfWhichNoSandboxCanBeMade) {
  settings_.snapshot = "nosuch";
  expect(Health::bad, "image", "snapshot");
  settings_.snapshot = "clean";
  std::filesystem::remove(folder_ + "/base/base.qcow2");
  expect(Health::bad, "image", "image build");
}

TEST_F(DoctorTest, FindsMissingAndBrokenTools) {
  for (const auto& [tool, package] : std::map<std::string, std::string>{
           {"qemu-system-x86_64", "qemu-system-x86"}, {"qemu-img", "qemu-utils"}}) {
    std::filesystem::remove(folder_ + "/bin/" + tool);
    expect(Health::bad, "tools", package);
    program(tool, "exit 1");
    expect(Health::bad, "tools", package);
    program(tool, "echo version 7");
  }
  std::filesystem::remove(folder_ + "/bin/mmdebstrap");
  expect(Health::notice, "tools", "mmdebstrap");
}

TEST_F(DoctorTest, NeedsNoQemuForVmwaresOwnVmrun) {
  program("vmrun", "exit 0");
  settings_.vmrun = folder_ + "/bin/vmrun";
  host_.program_folders = {};
  EXPECT_TRUE(examined().healthy());
}

TEST_F(DoctorTest, FindsAMissingImageAndAMissingLogin) {
  const auto good = settings_;
  settings_.base_vmx = folder_ + "/base/none.vmx";
  expect(Health::bad, "image", "image build");
  settings_ = good;
  settings_.guest_user.clear();
  expect(Health::bad, "image", "guest_user");
}

TEST_F(DoctorTest, SaysHowToUseKvm) {
  host_.kvm = folder_ + "/none";
  expect(Health::notice, "accelerator", "virtualisation");
  host_.access = [](const std::string&) { return Access::denied; };
  expect(Health::notice, "accelerator", "adduser somebody kvm");
}

TEST_F(DoctorTest, ShowsWhatOfTheConfinementIsNotInForceAndHowToGetIt) {
  program("sallyport-vmrun", "printf 'own-uid: yes; 1\\nlandlock: no; needs Linux 5.13\\nkvm: yes; open\\n'");
  expect(Health::notice, "confinement", "needs Linux 5.13");
  program("sallyport-vmrun", "printf 'landlock: yes; 3\\nkvm: no; no kernel boots with it\\n'");
  expect(Health::notice, "accelerator", "no kernel boots");
  program("sallyport-vmrun", "exit 1");
  expect(Health::notice, "confinement", "one version");
}

TEST_F(DoctorTest, FindsAFullDisk) {
  host_.enough_free = UINT64_MAX;
  expect(Health::notice, "disk", "free space");
  host_.least_free = UINT64_MAX;
  expect(Health::bad, "disk", "free space");
}

TEST_F(DoctorTest, FindsAFolderThatOthersMayWrite) {
  std::filesystem::create_directories(settings_.clones());
  std::filesystem::permissions(settings_.clones(), std::filesystem::perms(0777));
  expect(Health::bad, "permissions", "folder");
}

TEST_F(DoctorTest, FindsFoldersThatOverlap) {
  settings_.clones_dir = settings_.transfer_dir + "/clones";
  expect(Health::bad, "overlap", "folders");
}

TEST_F(DoctorTest, FindsABrokenPolicyAndAnUntrustedSystemPolicy) {
  settings_.policies = {folder_ + "/broken.yaml"};
  expect(Health::bad, "policy", "mend the file");
  std::ofstream(folder_ + "/broken.yaml") << "rules: [\n";
  expect(Health::bad, "policy", "policy check");
  settings_.policies.clear();
  std::filesystem::create_directory(host_.system_policies);
  std::filesystem::permissions(host_.system_policies, std::filesystem::perms(0777));
  expect(Health::bad, "policy", "mend the file");
}

TEST_F(DoctorTest, FindsAnOwnerThatDoesNotAnswerOrWillNotWork) {
  const Json good{{"version", SALLYPORT_VERSION},
                  {"deployment", "personal"},
                  {"policy", "default"},
                  {"kill_switch", "off"},
                  {"problems", Json::array()}};
  const auto health = [](const Result<Json>& status) {
    Report report;
    examine_owner(status, report);
    return worst(report, "owner").health;
  };
  EXPECT_EQ(health(good), Health::good);
  EXPECT_EQ(health(policy::fail("owner.start", "the owner did not come up")), Health::bad);
  auto spoilt = good;
  spoilt["kill_switch"] = "on";
  EXPECT_EQ(health(spoilt), Health::bad);
  spoilt = good;
  spoilt["version"] = "0.0.9";
  EXPECT_EQ(health(spoilt), Health::bad);
  spoilt = good;
  spoilt["problems"] = {"the log cannot be written"};
  EXPECT_EQ(health(spoilt), Health::bad);
}

TEST_F(DoctorTest, FindsALogThatDoesNotVerify) {
  const auto health = [](const std::string& folder) {
    Report report;
    examine_log(folder, report);
    return worst(report, "log").health;
  };
  EXPECT_EQ(health(folder_ + "/no-log"), Health::good);
  const auto log = folder_ + "/audit";
  std::filesystem::create_directory(log);
  EXPECT_EQ(health(log), Health::bad) << "a log without a beginning";
  std::ofstream(log + "/00000000000000000000.jsonl") << "{\"forged\":true}\n";
  EXPECT_EQ(health(log), Health::bad);
}

// Plays the owner and a sandbox, and does one thing wrong when told to.
class FakeDoor final : public Door {
 public:
  explicit FakeDoor(std::string transfer) : transfer_(std::move(transfer)) {}

  policy::Result<Json> call(std::string_view tool, const Json& arguments,
                            std::chrono::milliseconds) override {
    calls.emplace_back(tool);
    if (tool == dead) return policy::fail("owner.answer", "the owner is gone");
    if (tool == refused)
      return Json{{"isError", true}, {"content", {{{"type", "text"}, {"text", "refused by rule x"}}}}};
    if (tool == "sandbox_create") return of({{"sandbox_id", tool == wrong ? "" : kId}});
    if (tool == "sandbox_run") return run(arguments.value("command", ""));
    if (tool == "sandbox_copy_in") {
      const auto text = read_small_file(transfer_ + "/" + arguments.value("host_path", ""), 4096);
      if (!text) return tl::unexpected(text.error());
      inside_ = *text;
      return of({{"files", tool == wrong ? 0 : 1}});
    }
    if (tool == "sandbox_copy_out") {
      std::string out = inside_;
      for (auto& c : out) c = static_cast<char>(c == '\n' ? c : c <= '9' ? c - '0' + 'g' : c - 'a' + 'q');
      if (tool == wrong) out = "something else\n";
      std::ofstream(transfer_ + "/" + arguments.value("host_path", "")) << out;
      return of({{"files", 1}});
    }
    if (tool == "sandbox_screenshot") {
      const std::string picture(tool == wrong ? 3 : 500, 'A');
      return Json{{"content", {{{"type", "image"}, {"data", picture}, {"mimeType", "image/png"}}}}};
    }
    if (tool == "sandbox_destroy") {
      gone_ = tool != wrong;
      return of(Json::object());
    }
    return of({{"sandboxes", gone_ ? Json::array() : Json::array({{{"sandbox_id", kId}}})}});
  }

  std::string dead, refused, wrong;
  std::vector<std::string> calls;

 private:
  static constexpr const char* kId = "sbx-0123456789abcdef0123456789abcdef";
  static Json of(Json content) { return Json{{"structuredContent", std::move(content)}}; }
  Json run(const std::string& command) const {
    const bool reads = command.starts_with("cat");
    std::string out = reads ? inside_ : "42\n";
    if ("sandbox_run" == wrong) out = "43\n";
    return of({{"status", "exited"}, {"exit_code", 0}, {"stdout", out}, {"stderr", ""}});
  }
  std::string transfer_, inside_;
  bool gone_ = false;
};

TEST_F(DoctorTest, TakesASandboxThroughItsWholeLife) {
  FakeDoor door(settings_.transfer_dir);
  Report report;
  journey(door, settings_.transfer_dir, report);
  EXPECT_TRUE(report.healthy()) << to_text(report);
  std::vector<std::string> steps;
  for (const auto& one : report.findings) {
    steps.push_back(one.check);
    EXPECT_GE(one.took.count(), 0) << one.check;
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"create", "run", "copy_in", "read", "copy_out", "screenshot",
                                             "destroy"}));
  EXPECT_TRUE(std::filesystem::is_empty(settings_.transfer_dir));
}

TEST_F(DoctorTest, NamesTheStepThatFailsAndStillDestroys) {
  const std::map<std::string, std::string> steps{
      {"sandbox_create", "create"},         {"sandbox_run", "run"},
      {"sandbox_copy_in", "copy_in"},       {"sandbox_copy_out", "copy_out"},
      {"sandbox_screenshot", "screenshot"}, {"sandbox_destroy", "destroy"}};
  for (const auto& [tool, step] : steps) {
    for (auto FakeDoor::* how : {&FakeDoor::dead, &FakeDoor::refused, &FakeDoor::wrong}) {
      FakeDoor door(settings_.transfer_dir);
      door.*how = tool;
      Report report;
      journey(door, settings_.transfer_dir, report);
      EXPECT_EQ(worst(report, step).health, Health::bad) << tool << "\n" << to_text(report);
      EXPECT_FALSE(worst(report, step).mend.empty());
      const bool made = tool != "sandbox_create";
      const bool destroyed =
          std::find(door.calls.begin(), door.calls.end(), "sandbox_destroy") != door.calls.end();
      EXPECT_EQ(destroyed, made) << tool;
      EXPECT_TRUE(std::filesystem::is_empty(settings_.transfer_dir)) << tool;
    }
  }
}

TEST_F(DoctorTest, FindsATransferFolderThatCannotBeWritten) {
  FakeDoor door(settings_.transfer_dir);
  Report report;
  journey(door, folder_ + "/none", report);
  EXPECT_EQ(worst(report, "copy_in").health, Health::bad);
  EXPECT_EQ(door.calls.back(), "sandbox_list");
}

TEST(DoctorReport, SaysForEachProblemWhatToDoAndEscapesWhatItShows) {
  Report report;
  report.add({"disk", Health::bad, "full \x1b[2J", "free space", std::chrono::milliseconds(7)});
  const auto text = to_text(report);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("-> free space"), std::string::npos);
  const auto json = Json::parse(to_json(report));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["checks"][0]["ms"], 7);
  EXPECT_EQ(json["checks"][0]["health"], "bad");
}

TEST(DoctorProgram, GivesOutputAndEndsWhatDoesNotEnd) {
  EXPECT_EQ(output_of({"/bin/sh", "-c", "echo a; echo b >&2"}, std::chrono::seconds(10)).value_or(""),
            "a\nb\n");
  EXPECT_EQ(output_of({"/bin/sh", "-c", "exit 3"}, std::chrono::seconds(10)).error().code, "program.failed");
  EXPECT_EQ(output_of({"/nowhere"}, std::chrono::seconds(10)).error().code, "program.start");
  EXPECT_EQ(output_of({"/bin/sleep", "60"}, std::chrono::milliseconds(50)).error().code, "program.timeout");
  // Its end counts, not that of its output.
  EXPECT_EQ(
      output_of({"/bin/sh", "-c", "exec > /dev/null 2>&1; exec sleep 60"}, std::chrono::milliseconds(300))
          .error()
          .code,
      "program.timeout");
}

TEST(DoctorProgram, GetsNoneOfOurSettings) {
  ::setenv("SALLYPORT_GUEST_PASSWORD", "canary", 1);
  ::setenv("VMSANDBOX_GUEST_PASSWORD", "canary", 1);
  const auto said = output_of({"/usr/bin/env"}, std::chrono::seconds(10));
  ::unsetenv("SALLYPORT_GUEST_PASSWORD");
  ::unsetenv("VMSANDBOX_GUEST_PASSWORD");
  ASSERT_TRUE(said);
  EXPECT_NE(said->find("PATH="), std::string::npos);
  EXPECT_EQ(said->find("canary"), std::string::npos);
}

}  // namespace
}  // namespace gateway::doctor
