// The service deployment, as far as it needs no second user; tests/e2e/service.test.mjs has the rest.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "enforcers/path_jail/jail.h"
#include "gateway/call/transfers.h"
#include "gateway/net/unix_socket.h"
#include "gateway/owner/deployment.h"
#include "gateway/settings/folder.h"
#include "gateway/setup/policy_files.h"
#include "gateway/setup/setup.h"

namespace gateway {
namespace {

constexpr std::uint32_t kSomebodyElse = 54321;

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sallyport-service-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    socket_ = folder_ + "/owner.sock";
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  Settings of(Deployment deployment) const {
    Settings settings;
    settings.deployment = deployment;
    return settings;
  }
  std::string found(const Settings& settings) const {
    const auto service = find_service(settings, socket_, std::chrono::milliseconds(50));
    if (!service) return service.error().code;
    return *service ? "service" : "own";
  }

  std::string folder_, socket_;
};

TEST_F(ServiceTest, IsUsedWhenItIsThereAndNothingElseWasSaid) {
  EXPECT_EQ(found(of(Deployment::automatic)), "own");
  const auto listening = listen_unix(socket_);
  ASSERT_TRUE(listening);
  EXPECT_EQ(found(of(Deployment::automatic)), "service");
  EXPECT_EQ(found(of(Deployment::service)), "service");
}

TEST_F(ServiceTest, IsPassedByForAnOwnerOfOnesOwnOnlyWhenThatWasSaid) {
  const auto listening = listen_unix(socket_);
  ASSERT_TRUE(listening);
  EXPECT_EQ(found(of(Deployment::personal)), "own");
  auto named = of(Deployment::automatic);
  named.state_named = Switch::on;
  EXPECT_EQ(found(named), "own");
}

TEST_F(ServiceTest, ThatDoesNotAnswerIsAnErrorAndNoReasonForAnotherOwner) {
  {
    ASSERT_TRUE(listen_unix(socket_));
  }
  ASSERT_TRUE(is_there(socket_));
  EXPECT_EQ(found(of(Deployment::automatic)), "service.down");
}

TEST_F(ServiceTest, ThatIsWantedAndAbsentIsAnError) {
  EXPECT_EQ(found(of(Deployment::service)), "service.absent");
}

TEST_F(ServiceTest, SocketIsOpenToItsGroupAndNobodyElse) {
  const auto listening = listen_unix(socket_, ::getegid());
  ASSERT_TRUE(listening);
  struct stat status{};
  ASSERT_EQ(::stat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660U);
  EXPECT_EQ(status.st_gid, ::getegid());
}

TEST_F(ServiceTest, SettingsComeFromTheSystemsPlaces) {
  Sources sources;
  sources.environment["HOME"] = folder_;
  sources.environment["SALLYPORT_DEPLOYMENT"] = "service";
  const auto settings = load_settings(sources);
  EXPECT_EQ(settings.socket_path(), "/run/sallyport/owner.sock");
  EXPECT_EQ(settings.state_dir, "/var/lib/sallyport");
  EXPECT_EQ(settings.transfer_dir, "/var/lib/sallyport-transfer");
  EXPECT_EQ(settings.config_files, std::vector<std::string>{"/etc/sallyport/sallyport.yaml"});
  sources.environment["SALLYPORT_DEPLOYMENT"] = "servise";
  ASSERT_EQ(load_settings(sources).problems.size(), 1U);
}

// A list of files that decide is taken whole or not at all.
class SystemPolicies : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    policies_ = folder_ + "/policy.d";
    ASSERT_TRUE(std::filesystem::create_directory(policies_));
    std::filesystem::permissions(policies_, std::filesystem::perms(0755));
    write("10-site.yaml");
  }
  void write(const std::string& name) const {
    std::ofstream(policies_ + "/" + name) << "sallyport: policy/v1\ntier: org\ndefault: deny\n";
    std::filesystem::permissions(policies_ + "/" + name, std::filesystem::perms(0644));
  }
  std::string problem(std::uint32_t trusted = ::geteuid()) const {
    const auto files = read_policies(Settings{}, policies_, trusted);
    return files.problems.empty() ? "" : files.problems.front().code;
  }
  std::string policies_;
};

TEST_F(SystemPolicies, AreReadAboveTheOthers) {
  const auto files = read_policies(Settings{}, policies_, ::geteuid());
  EXPECT_TRUE(files.problems.empty());
  ASSERT_EQ(files.sources.size(), 2U);
  EXPECT_EQ(files.sources[0].tier, policy::Tier::org);
  EXPECT_EQ(files.sources[1].name, "default.yaml");
}

TEST_F(SystemPolicies, NarrowWhatTheOthersAllow) {
  const auto judged = [](const PolicyFiles& files) {
    const auto compiled = policy::compile(files.sources, Settings{}.facts());
    policy::Request create{
        policy::Subject{}, std::nullopt, policy::Create{}, {policy::CallId::random(), {}, {}}};
    return compiled.program ? compiled.program->judge(create, Settings{}.facts()).effect
                            : policy::Effect::deny;
  };
  EXPECT_EQ(judged(read_policies(Settings{}, folder_ + "/none", ::geteuid())), policy::Effect::allow);
  // What the highest tier does not allow is refused, whatever the others say.
  EXPECT_EQ(judged(read_policies(Settings{}, policies_, ::geteuid())), policy::Effect::deny);
}

TEST_F(SystemPolicies, ThatDoNotCompileLeaveNoPolicy) {
  std::ofstream(policies_ + "/20-broken.yaml") << "sallyport: policy/v1\ntier: org\nactions: [\n";
  const auto files = read_policies(Settings{}, policies_, ::geteuid());
  EXPECT_FALSE(policy::compile(files.sources, Settings{}.facts()).program);
}

TEST_F(SystemPolicies, OfAnotherUserThanRootAreRefused) {
  EXPECT_EQ(problem(kSomebodyElse), "file.untrusted");
}

TEST_F(SystemPolicies, ThatOthersMayWriteAreRefused) {
  std::filesystem::permissions(policies_ + "/10-site.yaml", std::filesystem::perms(0664));
  EXPECT_EQ(problem(), "file.untrusted");
}

TEST_F(SystemPolicies, InAFolderThatOthersMayWriteAreRefused) {
  std::filesystem::permissions(policies_, std::filesystem::perms(0777));
  EXPECT_EQ(problem(), "file.untrusted");
}

TEST_F(SystemPolicies, ThatAreLinksAreRefused) {
  std::filesystem::create_symlink("10-site.yaml", policies_ + "/20-link.yaml");
  EXPECT_EQ(problem(), "file.untrusted");
}

TEST_F(SystemPolicies, ThatCannotBeReadAreRefused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything; the end-to-end test of the service has this";
  std::filesystem::permissions(policies_, std::filesystem::perms(0));
  EXPECT_EQ(problem(), "folder.unreadable");
  std::filesystem::permissions(policies_, std::filesystem::perms(0755));
}

TEST_F(SystemPolicies, MayBeAbsent) {
  ASSERT_TRUE(remove_tree(policies_));
  EXPECT_EQ(problem(), "");
}

TEST_F(ServiceTest, GivesEachUserAFolderOfTheirOwn) {
  const auto folders = transfer_folders_of_users(folder_);
  policy::Subject who;
  who.uid = kSomebodyElse;
  const auto jail = folders->of(who);
  ASSERT_TRUE(jail) << jail.error().message;
  EXPECT_EQ((*jail)->root(), folder_ + "/54321");
  struct stat status{};
  ASSERT_EQ(::stat((*jail)->root().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07, 0U);
  who.uid = kSomebodyElse + 1;
  ASSERT_TRUE(folders->of(who));
  EXPECT_EQ((*folders->of(who))->root(), folder_ + "/54322");
  who.uid.reset();
  EXPECT_FALSE(folders->of(who));
}

TEST_F(ServiceTest, SharesNoFolderThatAThirdUserMayUse) {
  const auto path = folder_ + "/54321";
  ASSERT_TRUE(make_shared_folder(path, kSomebodyElse));
  EXPECT_TRUE(enforcers::Jail::open(path, std::nullopt, kSomebodyElse));
  EXPECT_FALSE(enforcers::Jail::open(path, std::nullopt, kSomebodyElse + 1));
  std::filesystem::permissions(path, std::filesystem::perms(0775));
  EXPECT_FALSE(enforcers::Jail::open(path, std::nullopt, kSomebodyElse));
  // A folder without a list says nothing of whom it is shared with.
  const auto plain = folder_ + "/plain";
  ASSERT_TRUE(std::filesystem::create_directory(plain));
  EXPECT_FALSE(enforcers::Jail::open(plain, std::nullopt, kSomebodyElse));
}

TEST_F(ServiceTest, NoticesAUsersFolderThatWasExchanged) {
  const auto folders = transfer_folders_of_users(folder_);
  policy::Subject who;
  who.uid = kSomebodyElse;
  ASSERT_TRUE(folders->of(who));
  std::filesystem::rename(folder_ + "/54321", folder_ + "/old");
  std::filesystem::create_symlink(folder_ + "/old", folder_ + "/54321");
  EXPECT_FALSE(folders->of(who));
}

}  // namespace
}  // namespace gateway
