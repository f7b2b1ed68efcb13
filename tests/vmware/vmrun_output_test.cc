#include "vmware/vmrun_output.h"

#include <gtest/gtest.h>

namespace vmware {
namespace {

using Kind = VmrunAnswer::Kind;

struct Case {
  int exit;
  std::string out, err;
  Kind kind;
  std::string code;
  int guest_exit = 0;
};

TEST(VmrunOutput, IsJudgedByItsTextAndOnlyThenByTheExitCode) {
  const Case cases[] = {
      {0, "", "", Kind::done, ""},
      {0, "running\n", "", Kind::done, ""},
      {0, "Error: The virtual machine is not powered on\n", "", Kind::failed, "guest.gone"},
      {255, "Error: The virtual machine is not powered on: /x/y.vmx\r\n", "", Kind::failed, "guest.gone"},
      {255, "", "Error: A file was not found\n", Kind::failed, "guest.no_file"},
      {255, "Error: The virtual machine should not be powered on. It is already running.\n", "", Kind::failed,
       "vm.running"},
      {255, "Error: The VMware Tools are not running in the virtual machine: /x\n", "", Kind::failed,
       "guest.not_ready"},
      {255, "Error: VMware Tools are not running in the guest\n", "", Kind::failed, "guest.not_ready"},
      {255, "Error: Anonymous guest operations are not allowed on this virtual machine. You must\n", "",
       Kind::failed, "guest.login"},
      {255, "Error: Invalid user name or password for the guest OS\n", "", Kind::failed, "guest.login"},
      {255, "Error: Cannot open VM: /x.vmx, The virtual machine cannot be found\n", "", Kind::failed,
       "vm.missing"},
      {255, "Error: The specified snapshot does not exist\n", "", Kind::failed, "snapshot.missing"},
      {255, "Error: Invalid snapshot name 'x'\n", "", Kind::failed, "snapshot.missing"},
      {255, "Error: The file is already in use\n", "", Kind::failed, "vm.locked"},
      {255, "Error: Insufficient permissions in the host operating system\n", "", Kind::failed,
       "host.permission"},
      {255, "Error: Unrecognized command: x\nusage\n", "", Kind::failed, "vmrun.command"},
      {255, "Error: something new\n", "", Kind::failed, "vmrun.other"},
      {255, "", "", Kind::failed, "vmrun.other"},
      {3, "Guest program exited with non-zero exit code: 3\n", "", Kind::guest_exit, "", 3},
      {0, "Guest program exited with non-zero exit code: 255\n", "", Kind::guest_exit, "", 255},
      {1, "Guest program exited with non-zero exit code: many\n", "", Kind::failed, "vmrun.output"},
      {0, "The file exists.\n", "", Kind::exists, ""},
      {255, "The file does not exist.\n", "", Kind::absent, ""},
      {1, "The directory does not exist.\r\n", "", Kind::absent, ""},
  };
  for (const auto& one : cases) {
    const auto answer = classify(one.exit, one.out, one.err);
    EXPECT_EQ(answer.kind, one.kind) << one.out;
    EXPECT_EQ(answer.error.code, one.code) << one.out;
    EXPECT_EQ(answer.guest_exit, one.guest_exit) << one.out;
  }
}

TEST(VmrunOutput, DoesNotRepeatATextItDoesNotKnow) {
  const auto answer = classify(255, "Error: my password is hunter2\n", "");
  EXPECT_EQ(answer.error.message.find("hunter2"), std::string::npos);
}

TEST(VmrunOutput, ReadsUtf16AsIfItWereAscii) {
  const std::string_view text(
      "\xFF\xFE"
      "E\0r\0r\0o\0r\0:\0 \0A\0 \0f\0i\0l\0e\0 \0w\0a\0s\0 \0n\0o\0t\0 \0f\0o\0u\0n\0d\0\n\0",
      58);
  EXPECT_EQ(classify(255, text, "").error.code, "guest.no_file");
}

TEST(VmrunOutput, ListsPathsAndLeavesOutWhatIsNone) {
  const auto list = parse_list("\nTotal running VMs: 3\n/a/b.vmx\nC:\\VMs\\x.vmx\nnoise\n");
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, (std::vector<std::string>{"/a/b.vmx", "C:\\VMs\\x.vmx"}));
  EXPECT_TRUE(parse_list("Total running VMs: 0\n")->empty());
  EXPECT_EQ(parse_list("what?\n").error().code, "vmrun.output");
}

TEST(VmrunOutput, ListsSnapshotsOfATree) {
  const auto names = parse_snapshots("Total snapshots: 3\nclean\n\tchild\n\t\tgrand child\n");
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"clean", "child", "grand child"}));
}

TEST(VmrunOutput, RefusesAListWithoutEnd) {
  std::string text = "Total running VMs: 9999\n";
  for (int i = 0; i < 5000; ++i) text += "/vm" + std::to_string(i) + ".vmx\n";
  EXPECT_EQ(parse_list(text).error().code, "vmrun.output");
}

TEST(VmrunOutput, KnowsTheThreeStatesOfTheTools) {
  EXPECT_EQ(*parse_tools_state("running\n"), ToolsState::running);
  EXPECT_EQ(*parse_tools_state("installed\r\n"), ToolsState::installed);
  EXPECT_EQ(*parse_tools_state("unknown"), ToolsState::unknown);
  EXPECT_EQ(parse_tools_state("runnning").error().code, "vmrun.output");
}

}  // namespace
}  // namespace vmware
