#include "gateway/settings/settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "gateway/settings/field.h"
#include "gateway/settings/folder.h"

namespace gateway {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sallyport-settings-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    sources_.environment["HOME"] = folder_;
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  Settings with_file(const std::string& text) {
    const auto path = folder_ + "/sallyport.yaml";
    std::ofstream(path) << text;
    sources_.config_flag = path;
    return load_settings(sources_);
  }

  std::string folder_;
  Sources sources_;
};

TEST_F(SettingsTest, NeedNothing) {
  const auto settings = load_settings(sources_);
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(settings.state_dir, folder_ + "/.local/state/sallyport");
  EXPECT_EQ(settings.transfer_dir, folder_ + "/sallyport-transfer");
  EXPECT_EQ(settings.max_sandboxes, 3);
  EXPECT_EQ(settings.max_age, std::chrono::hours(2));
  EXPECT_EQ(settings.max_wait, std::chrono::seconds(45));
  EXPECT_EQ(settings.remote_input, Switch::off);
}

TEST_F(SettingsTest, TakeTheLaterOfFileOlderVariableVariableAndFlag) {
  EXPECT_EQ(with_file("sallyport: settings/v1\nmax_sandboxes: 4\n").max_sandboxes, 4);
  sources_.environment["VMSANDBOX_MAX_SANDBOXES"] = "5";
  EXPECT_EQ(load_settings(sources_).max_sandboxes, 5);
  sources_.environment["SALLYPORT_MAX_SANDBOXES"] = "6";
  EXPECT_EQ(load_settings(sources_).max_sandboxes, 6);
  sources_.flags["max_sandboxes"] = "7";
  EXPECT_EQ(load_settings(sources_).max_sandboxes, 7);
}

TEST_F(SettingsTest, SayLineAndColumnOfWhatIsWrongInTheFile) {
  const auto settings =
      with_file("sallyport: settings/v1\nmax_sandboxs: 4\nmax_age: 7\nremote_input: \"maybe\"\n");
  ASSERT_EQ(settings.problems.size(), 3u);
  EXPECT_TRUE(settings.problems[0].where.ends_with("sallyport.yaml:2:1")) << settings.problems[0].where;
  EXPECT_NE(settings.problems[0].message.find("did you mean `max_sandboxes`"), std::string::npos);
  EXPECT_TRUE(settings.problems[1].where.ends_with(":3:10")) << settings.problems[1].where;
  EXPECT_TRUE(settings.problems[2].where.ends_with(":4:15")) << settings.problems[2].where;
}

TEST_F(SettingsTest, TakeTheHomeFolderAndSwitchesAsPeopleWriteThem) {
  const auto settings = with_file("sallyport: settings/v1\ntransfer_dir: ~/transfer\nremote_input: true\n");
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(settings.transfer_dir, home_folder() + "/transfer");
  EXPECT_EQ(settings.remote_input, Switch::on);
}

TEST_F(SettingsTest, RefuseAFileThatIsNamedAndMissing) {
  sources_.config_flag = folder_ + "/nowhere.yaml";
  const auto settings = load_settings(sources_);
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].code, "file.missing");
}

TEST_F(SettingsTest, RefuseAFileOfAnotherFormat) {
  EXPECT_EQ(with_file("max_sandboxes: 4\n").problems.size(), 1u);
  EXPECT_EQ(with_file("sallyport: settings/v2\n").problems.size(), 1u);
  EXPECT_EQ(with_file("- a\n- b\n").problems.size(), 1u);
}

struct Refusal {
  const char* name;
  const char* value;
};

TEST_F(SettingsTest, RefuseWhatNoSettingCanBe) {
  const Refusal refusals[] = {{"SALLYPORT_MAX_SANDBOXES", "0"},   {"SALLYPORT_MAX_SANDBOXES", "65"},
                              {"SALLYPORT_MAX_SANDBOXES", "3x"},  {"SALLYPORT_MAX_SANDBOXES", ""},
                              {"SALLYPORT_MAX_AGE", "2"},         {"SALLYPORT_MAX_AGE", "5s"},
                              {"SALLYPORT_MAX_AGE", "-2h"},       {"SALLYPORT_BASE_VMX", "base.vmx"},
                              {"SALLYPORT_SNAPSHOT", "a b"},      {"SALLYPORT_SNAPSHOT", "-x"},
                              {"SALLYPORT_SNAPSHOT", "a/b"},      {"SALLYPORT_REMOTE_INPUT", "yes"},
                              {"SALLYPORT_WEB_PORTS", "80,"},     {"SALLYPORT_WEB_PORTS", "80,65536"},
                              {"VMSANDBOX_GUEST_PASSWORD", ""},   {"VMSANDBOX_GUEST_PASSWORD", "-secret"},
                              {"VMSANDBOX_MAX_AGE_MINUTES", "0"}, {"VMSANDBOX_AUDIT_LOG", "/tmp/x"},
                              {"SALLYPORT_POLICY", "/a:b"},       {"SALLYPORT_WEB_PROXY_HOST", "host"}};
  for (const auto& [name, value] : refusals) {
    Sources sources = sources_;
    sources.environment[name] = value;
    const auto settings = load_settings(sources);
    EXPECT_EQ(settings.problems.size(), 1u) << name << "=" << value;
  }
}

TEST_F(SettingsTest, NeverRepeatAPassword) {
  sources_.environment["VMSANDBOX_GUEST_PASSWORD"] = "-hunter2";
  const auto settings = load_settings(sources_);
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].message.find("hunter2"), std::string::npos);
}

TEST_F(SettingsTest, RefuseAPasswordFileThatOthersMayRead) {
  const auto path = folder_ + "/password";
  std::ofstream(path) << "guest-word\n";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  sources_.environment["SALLYPORT_GUEST_PASSWORD_FILE"] = path;
  ASSERT_EQ(load_settings(sources_).problems.size(), 1u);
  EXPECT_EQ(load_settings(sources_).problems[0].code, "file.open_to_others");
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  const auto settings = load_settings(sources_);
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(settings.guest_password.reveal(), "guest-word");
}

TEST_F(SettingsTest, TakeEveryVariableOfTheOlderServer) {
  sources_.environment.insert({{"VMSANDBOX_BASE_VMX", "/vm/base.vmx"},
                               {"VMSANDBOX_SNAPSHOT", "clean"},
                               {"VMSANDBOX_CLONES_DIR", "/vm/clones/"},
                               {"VMSANDBOX_TRANSFER_DIR", "/vm/transfer"},
                               {"VMSANDBOX_GUEST_USER", "sandbox"},
                               {"VMSANDBOX_GUEST_PASSWORD", "throw-away"},
                               {"VMSANDBOX_MAX_SANDBOXES", "2"},
                               {"VMSANDBOX_MAX_AGE_MINUTES", "90"},
                               {"VMSANDBOX_BOOT_TIMEOUT_SECONDS", "60"},
                               {"VMSANDBOX_VMRUN_PATH", "/usr/bin/vmrun"},
                               {"VMSANDBOX_REMOTE_INPUT", "on"},
                               {"VMSANDBOX_WEB_VNET", "VMnet9"},
                               {"VMSANDBOX_WEB_PROXY_HOST", "192.0.2.1"},
                               {"VMSANDBOX_WEB_PROXY_PORT", "3129"},
                               {"VMSANDBOX_WEB_PORTS", "443"}});
  const auto settings = load_settings(sources_);
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(settings.clones_dir, "/vm/clones");
  EXPECT_EQ(settings.max_age, std::chrono::minutes(90));
  EXPECT_EQ(settings.boot_timeout, std::chrono::seconds(60));
  EXPECT_EQ(settings.remote_input, Switch::on);
  EXPECT_EQ(std::get<bool>(settings.facts().at("web")), true);
}

TEST_F(SettingsTest, WithoutAHomeSayWhatToSet) {
  Sources nowhere;
  nowhere.environment["SALLYPORT_STATE_DIR"] = "/somewhere/state";
  EXPECT_EQ(load_settings(nowhere).state_dir, "/somewhere/state");
}

TEST_F(SettingsTest, HaveADigestThatFollowsEverySetting) {
  const auto first = load_settings(sources_).digest;
  EXPECT_EQ(load_settings(sources_).digest, first);
  const std::pair<const char*, const char*> changes[] = {{"SALLYPORT_MAX_SANDBOXES", "2"},
                                                         {"SALLYPORT_MAX_AGE", "1h"},
                                                         {"SALLYPORT_REMOTE_INPUT", "on"},
                                                         {"SALLYPORT_VMRUN", "/x/vmrun"},
                                                         {"SALLYPORT_POLICY", "/x/p.yaml"},
                                                         {"VMSANDBOX_GUEST_PASSWORD", "other"},
                                                         {"SALLYPORT_SNAPSHOT", "other"},
                                                         {"SALLYPORT_MAX_WAIT", "5s"},
                                                         {"SALLYPORT_TRANSFER_DIR", "/x/t"},
                                                         {"SALLYPORT_IDLE_EXIT", "9m"},
                                                         {"SALLYPORT_REATTACH", "9m"},
                                                         {"SALLYPORT_AUDIT_DIR", "/x/a"},
                                                         {"SALLYPORT_SHADOW_POLICY", "/x/p.yaml"}};
  for (const auto& [name, value] : changes) {
    Sources sources = sources_;
    sources.environment[name] = value;
    EXPECT_NE(load_settings(sources).digest, first) << name;
  }
}

TEST(SettingsReference, IsWhatTheDocumentationSays) {
  std::ifstream in(SALLYPORT_SOURCE_DIR "/docs/settings.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, settings_markdown()) << "run `sallyport settings > docs/settings.md`";
}

}  // namespace
}  // namespace gateway
