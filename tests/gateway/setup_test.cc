#include "gateway/setup/setup.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "gateway/settings/folder.h"

namespace gateway {
namespace {

// A set-up of empty files: enough for everything that is looked at before a machine is made.
class SetupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sallyport-setup-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* part : {"/base", "/bin", "/transfer", "/conf"})
      std::filesystem::create_directory(folder_ + part);
    std::ofstream(folder_ + "/base/vm.vmx") << "";
    std::ofstream(folder_ + "/bin/vmrun") << "";
    std::filesystem::permissions(folder_ + "/bin/vmrun", std::filesystem::perms(0700));
    settings_.state_dir = folder_ + "/state";
    settings_.transfer_dir = folder_ + "/transfer";
    settings_.base_vmx = folder_ + "/base/vm.vmx";
    settings_.vmrun = folder_ + "/bin/vmrun";
    settings_.guest_user = "agent";
    settings_.guest_password = Secret("throw-away");
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  std::string first_problem() {
    const auto setup = look_around(settings_);
    return setup.problems.empty() ? "" : setup.problems.front().code;
  }

  std::string folder_;
  Settings settings_;
};

TEST_F(SetupTest, IsGoodWhenAllIsInPlace) { EXPECT_EQ(first_problem(), ""); }

TEST_F(SetupTest, MissesTheProgramTheImageAndTheLogin) {
  settings_.vmrun = folder_ + "/bin/none";
  EXPECT_EQ(first_problem(), "setup.vmrun");
  settings_.vmrun = folder_ + "/bin/vmrun";
  settings_.base_vmx = folder_ + "/base/none.vmx";
  EXPECT_EQ(first_problem(), "setup.image");
  settings_.base_vmx = folder_ + "/base/vm.vmx";
  settings_.guest_user.clear();
  EXPECT_EQ(first_problem(), "setup.guest_login");
}

TEST_F(SetupTest, RefusesFoldersOfWhichOneIsInsideAnother) {
  struct Case {
    std::string transfer, clones, audit;
  };
  const Case cases[] = {{"/transfer", "/transfer/clones", "/audit"},
                        {"/transfer", "/transfer", "/audit"},
                        {"/clones/transfer", "/clones", "/audit"},
                        {"/transfer", "/clones", "/transfer/audit"},
                        {"/base", "/clones", "/audit"},
                        {"/base/transfer", "/clones", "/audit"},
                        {"/transfer", "/base/clones", "/audit"},
                        {"/transfer", "/clones", "/clones/audit"},
                        {"/state/transfer", "/clones", "/audit"},
                        {"", "/clones", "/audit"}};
  for (const auto& [transfer, clones, audit] : cases) {
    settings_.transfer_dir = folder_ + transfer;
    settings_.clones_dir = folder_ + clones;
    settings_.audit_dir = folder_ + audit;
    EXPECT_EQ(first_problem(), "setup.overlap") << transfer << " " << clones << " " << audit;
  }
}

TEST_F(SetupTest, KeepsEveryDecidingFileOutOfTheTransferFolder) {
  const auto inside = settings_.transfer_dir + "/x";
  std::ofstream(inside) << "";
  std::filesystem::permissions(inside, std::filesystem::perms(0700));
  const auto good = settings_;
  settings_.vmrun = inside;
  EXPECT_EQ(first_problem(), "setup.overlap");
  settings_ = good;
  settings_.policies = {inside};
  EXPECT_EQ(first_problem(), "setup.overlap");
  settings_ = good;
  settings_.config_files = {inside};
  EXPECT_EQ(first_problem(), "setup.overlap");
  settings_ = good;
  settings_.config_files = {settings_.transfer_dir + "/not/there/yet.yaml"};
  EXPECT_EQ(first_problem(), "setup.overlap");
  settings_ = good;
  settings_.guest_password_file = inside;
  EXPECT_EQ(first_problem(), "setup.overlap");
}

TEST_F(SetupTest, LetsAFileStandBesideTheTransferFolder) {
  settings_.policies = {folder_ + "/policy.yaml"};
  settings_.config_files = {folder_ + "/sallyport.yaml"};
  EXPECT_EQ(first_problem(), "");
}

}  // namespace
}  // namespace gateway
