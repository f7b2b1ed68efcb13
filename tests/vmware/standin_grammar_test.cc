#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vmware/standin/command_line.h"
#include "vmware/standin/faults.h"

namespace standin {
namespace {

using Words = std::vector<std::string>;

TEST(StandinGrammar, TakesFlagsThenCommandThenMachine) {
  const auto line =
      parse_command_line({"-T", "ws", "-gu", "agent", "-gp", "pw", "runProgramInGuest", "/v/v.vmx", "-noWait",
                          "-activeWindow", "-interactive", "/bin/ls", "-l", "-noWait"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command, Command::run_program);
  EXPECT_EQ(line->user, "agent");
  EXPECT_EQ(line->password, "pw");
  EXPECT_EQ(line->vmx, "/v/v.vmx");
  EXPECT_TRUE(line->no_wait);
  EXPECT_EQ(line->words, (Words{"/bin/ls", "-l", "-noWait"}));
}

TEST(StandinGrammar, KnowsCommandsInAnyCase) {
  for (const char* name : {"copyFileFromHostToGuest", "CopyFileFromHostToGuest", "COPYFILEFROMHOSTTOGUEST"}) {
    const auto line = parse_command_line({name, "/v.vmx", "/a", "/b"});
    ASSERT_TRUE(line) << name;
    EXPECT_EQ(line->command, Command::copy_to_guest);
  }
}

TEST(StandinGrammar, TakesBothFormsOfACloneOption) {
  for (const Words& tail :
       {Words{"-snapshot=clean", "-cloneName=x"}, Words{"-snapshot", "clean", "-cloneName", "x"},
        Words{"-cloneName=x", "-SNAPSHOT=clean"}}) {
    Words words{"clone", "/b.vmx", "/c.vmx", "linked"};
    words.insert(words.end(), tail.begin(), tail.end());
    const auto line = parse_command_line(words);
    ASSERT_TRUE(line) << tail[0];
    EXPECT_EQ(line->snapshot, "clean");
    EXPECT_EQ(line->clone_name, "x");
    EXPECT_EQ(line->words, (Words{"/c.vmx", "linked"}));
  }
}

TEST(StandinGrammar, ReadsTheWordThatChooses) {
  EXPECT_TRUE(parse_command_line({"stop", "/v.vmx", "HARD"})->hard);
  EXPECT_FALSE(parse_command_line({"stop", "/v.vmx"})->hard);
  EXPECT_TRUE(parse_command_line({"listSnapshots", "/v.vmx", "showtree"})->show_tree);
  EXPECT_TRUE(parse_command_line({"getGuestIPAddress", "/v.vmx", "-wait"})->wait);
  EXPECT_TRUE(parse_command_line({"start", "/v.vmx", "nogui"}));
}

TEST(StandinGrammar, RefusesWithVmwaresSentence) {
  const struct {
    Words words;
    std::string code, message;
  } table[] = {
      {{}, "usage", ""},
      {{"-T", "ws"}, "usage", ""},
      {{"-h"}, "usage", "Invalid argument: -h"},
      {{"-u", "root", "list"}, "usage", "Invalid argument: -u"},
      {{"-gu"}, "usage", "Invalid argument: -gu"},
      {{"frobnicate"}, "usage.unknown", "Unrecognized command: frobnicate"},
      {{"list", "-T", "ws"}, "parameter", "One of the parameters was invalid"},
      {{"start"}, "parameter", "One of the parameters was invalid"},
      {{"start", ""}, "parameter", "One of the parameters was invalid"},
      {{"start", "/v.vmx", "maybe"}, "parameter", "One of the parameters was invalid"},
      {{"stop", "/v.vmx", "soft", "hard"}, "parameter", "One of the parameters was invalid"},
      {{"snapshot", "/v.vmx"}, "parameter", "One of the parameters was invalid"},
      {{"clone", "/v.vmx", "/c.vmx"}, "parameter", "One of the parameters was invalid"},
      {{"clone", "/v.vmx", "/c.vmx", "linked", "-snapshot"},
       "parameter",
       "One of the parameters was invalid"},
      {{"clone", "/v.vmx", "/c.vmx", "linked", "-what=1"}, "parameter", "One of the parameters was invalid"},
      {{"clone", "/v.vmx", "/c.vmx", "half"}, "parameter", "One of the parameters was invalid"},
      {{"deleteSnapshot", "/v.vmx", "s", "andParents"}, "parameter", "One of the parameters was invalid"},
      {{"readVariable", "/v.vmx", "hostVar", "x"}, "parameter", "One of the parameters was invalid"},
      {{"writeVariable", "/v.vmx", "guestVar", "x"}, "parameter", "One of the parameters was invalid"},
      {{"runScriptInGuest", "/v.vmx", "/bin/sh"}, "parameter", "One of the parameters was invalid"},
      {{"pause", "/v.vmx", "hard"}, "parameter", "One of the parameters was invalid"},
      {{"suspend", "/v.vmx", "gently"}, "parameter", "One of the parameters was invalid"},
      {{"upgradevm"}, "parameter", "One of the parameters was invalid"},
      {{"runProgramInGuest", "/v.vmx", "-noWait"}, "parameter", "One of the parameters was invalid"},
      {{"runProgramInGuest", "/v.vmx", "-shell", "/bin/ls"},
       "parameter",
       "One of the parameters was invalid"},
      {{"CopyFileFromHostToGuest", "/v.vmx", "/a"}, "parameter", "One of the parameters was invalid"},
      {{"deleteVM", "/v.vmx", "now"}, "parameter", "One of the parameters was invalid"},
  };
  for (const auto& row : table) {
    const auto line = parse_command_line(row.words);
    ASSERT_FALSE(line) << (row.words.empty() ? "nothing" : row.words.back());
    EXPECT_EQ(line.error().code, row.code) << row.message;
    EXPECT_EQ(line.error().message, row.message);
  }
  const auto other_host = parse_command_line({"-T", "player", "list"});
  ASSERT_FALSE(other_host);
  EXPECT_NE(other_host.error().message.find("VIX_SERVICEPROVIDER_VMWARE_WORKSTATION"), std::string::npos);
}

TEST(StandinGrammar, KnowsEveryWordOfVmwares) {
  const struct {
    Words words;
    Command command;
  } table[] = {
      {{"reset", "/v.vmx", "soft"}, Command::reset},
      {{"suspend", "/v.vmx", "hard"}, Command::suspend},
      {{"pause", "/v.vmx"}, Command::pause},
      {{"unpause", "/v.vmx"}, Command::unpause},
      {{"deleteSnapshot", "/v.vmx", "s", "ANDDELETECHILDREN"}, Command::delete_snapshot},
      {{"revertToSnapshot", "/v.vmx", "s"}, Command::revert_to_snapshot},
      {{"clone", "/v.vmx", "/c.vmx", "FULL"}, Command::clone},
      {{"runScriptInGuest", "/v.vmx", "-noWait", "", "exit 1"}, Command::run_script},
      {{"listProcessesInGuest", "/v.vmx"}, Command::list_processes},
      {{"killProcessInGuest", "/v.vmx", "1"}, Command::kill_process},
      {{"directoryExistsInGuest", "/v.vmx", "/"}, Command::directory_exists},
      {{"createDirectoryInGuest", "/v.vmx", "/x"}, Command::create_directory},
      {{"deleteDirectoryInGuest", "/v.vmx", "/x"}, Command::delete_directory},
      {{"listDirectoryInGuest", "/v.vmx", "/x"}, Command::list_directory},
      {{"renameFileInGuest", "/v.vmx", "/x", "/y"}, Command::rename_file},
      {{"createTempFileInGuest", "/v.vmx"}, Command::create_temp_file},
      {{"typeKeystrokesInGuest", "/v.vmx", "x"}, Command::type_keystrokes},
      {{"readVariable", "/v.vmx", "GUESTVAR", "x"}, Command::read_variable},
      {{"writeVariable", "/v.vmx", "runtimeConfig", "x", ""}, Command::write_variable},
      {{"installTools", "/v.vmx"}, Command::unsupported},
      {{"addSharedFolder", "/v.vmx", "a", "/b"}, Command::unsupported},
      {{"setNetworkAdapter", "/v.vmx", "0", "nat"}, Command::unsupported},
      {{"listHostNetworks"}, Command::unsupported},
      {{"downloadPhotonVM", "/p"}, Command::unsupported},
  };
  for (const auto& row : table) {
    const auto line = parse_command_line(row.words);
    ASSERT_TRUE(line) << row.words[0];
    EXPECT_EQ(line->command, row.command) << row.words[0];
  }
  EXPECT_TRUE(parse_command_line({"deleteSnapshot", "/v.vmx", "s", "andDeleteChildren"})->and_children);
  EXPECT_TRUE(parse_command_line({"clone", "/v.vmx", "/c.vmx", "full"})->full);
  EXPECT_EQ(parse_command_line({"runScriptInGuest", "/v.vmx", "-interactive", "", "-x"})->words,
            (Words{"", "-x"}));
}

TEST(StandinGrammar, TheHelpNamesEveryCommandThatWorks) {
  const std::string help = usage_text();
  for (const Verb& verb : vocabulary()) {
    const bool named = help.find("   " + std::string(verb.name) + " ") != std::string::npos;
    EXPECT_EQ(named, verb.command != Command::unsupported) << verb.name;
  }
}

TEST(StandinGrammar, SaysItsVersionOnTheThirdLine) {
  const std::string text = usage_text();
  EXPECT_TRUE(text.starts_with("\n\nvmrun version 1.17.0 build-")) << text;
}

TEST(StandinGrammar, AsksForALoginWhereVmwareDoes) {
  EXPECT_EQ(verb_of(Command::capture_screen).login, Login::needed);
  EXPECT_EQ(verb_of(Command::check_tools_state).login, Login::not_needed);
  EXPECT_EQ(verb_of(Command::get_ip_address).login, Login::not_needed);
}

TEST(StandinFaults, StrikeTheCommandsTheyName) {
  const auto faults = Faults::parse("delay=500@clone,hang@list,tools-late=3");
  ASSERT_TRUE(faults);
  EXPECT_EQ(faults->find(Faults::Kind::delay, Command::clone), 500);
  EXPECT_FALSE(faults->find(Faults::Kind::delay, Command::list));
  EXPECT_EQ(faults->find(Faults::Kind::hang, Command::list), 0);
  EXPECT_EQ(faults->find(Faults::Kind::tools_late, Command::run_program), 3);
  EXPECT_FALSE(Faults::parse("")->find(Faults::Kind::hang, Command::list));
}

TEST(StandinFaults, DisguisePathsAsTheyAreAsked) {
  EXPECT_EQ(Faults::parse("path-case")->disguised("/Vm/one.vmx"), "/vM/ONE.VMX");
  EXPECT_EQ(Faults::parse("path-spelling")->disguised("/vm/one/one.vmx"), "/vm/./one/./one.vmx");
  EXPECT_EQ(Faults::parse("path-case@stop")->disguised("/vm/one.vmx"), "/vm/one.vmx");
}

TEST(StandinFaults, UnknownOnesAreRefused) {
  for (const char* text : {"explode", "hang@nothing", "delay=", "delay=-1", "delay=1x", "hang,explode"}) {
    EXPECT_FALSE(Faults::parse(text)) << text;
  }
}

}  // namespace
}  // namespace standin
