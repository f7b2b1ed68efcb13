#include "vmware/standin/vocabulary.h"

#include "vmware/vmx.h"

namespace standin {
namespace {

constexpr std::size_t kAny = 4096;
constexpr auto kMachine = Target::machine;
constexpr auto kFree = Login::not_needed;
constexpr auto kGuest = Login::needed;

constexpr Verb kVerbs[] = {
    {Command::start, "start", Group::power, kMachine, kFree, 0, 1, "[gui|nogui]",
     "power a machine on, or resume a suspended one"},
    {Command::stop, "stop", Group::power, kMachine, kFree, 0, 1, "[hard|soft]", "power it off"},
    {Command::reset, "reset", Group::power, kMachine, kFree, 0, 1, "[hard|soft]", "start its guest anew"},
    {Command::suspend, "suspend", Group::power, kMachine, kFree, 0, 1, "[hard|soft]",
     "put its memory on disk and power it off"},
    {Command::pause, "pause", Group::power, kMachine, kFree, 0, 0, "", "halt its processors"},
    {Command::unpause, "unpause", Group::power, kMachine, kFree, 0, 0, "", "let them go on"},

    {Command::list_snapshots, "listSnapshots", Group::snapshots, kMachine, kFree, 0, 1, "[showTree]",
     "name the snapshots"},
    {Command::snapshot, "snapshot", Group::snapshots, kMachine, kFree, 1, 1, "Snapshot-name",
     "keep the present state; of a running machine, with its memory"},
    {Command::delete_snapshot, "deleteSnapshot", Group::snapshots, kMachine, kFree, 1, 2,
     "Snapshot-name [andDeleteChildren]", "drop a snapshot, not the present state"},
    {Command::revert_to_snapshot, "revertToSnapshot", Group::snapshots, kMachine, kFree, 1, 1,
     "Snapshot-name", "throw the present state away for a kept one"},

    {Command::run_program, "runProgramInGuest", Group::guest, kMachine, kGuest, 1, kAny,
     "[-noWait] [-activeWindow] [-interactive] Program [Arguments]", "run a program"},
    {Command::run_script, "runScriptInGuest", Group::guest, kMachine, kGuest, 2, 2,
     "[-noWait] [-activeWindow] [-interactive] Interpreter Script-text", "run a script"},
    {Command::list_processes, "listProcessesInGuest", Group::guest, kMachine, kGuest, 0, 0, "",
     "name the processes"},
    {Command::kill_process, "killProcessInGuest", Group::guest, kMachine, kGuest, 1, 1, "Process-id",
     "end one"},
    {Command::file_exists, "fileExistsInGuest", Group::guest, kMachine, kGuest, 1, 1, "Guest-path",
     "say whether a file is there"},
    {Command::directory_exists, "directoryExistsInGuest", Group::guest, kMachine, kGuest, 1, 1, "Guest-path",
     "say whether a directory is there"},
    {Command::copy_to_guest, "CopyFileFromHostToGuest", Group::guest, kMachine, kGuest, 2, 2,
     "Host-path Guest-path", "copy a file in"},
    {Command::copy_from_guest, "CopyFileFromGuestToHost", Group::guest, kMachine, kGuest, 2, 2,
     "Guest-path Host-path", "copy a file out"},
    {Command::delete_file, "deleteFileInGuest", Group::guest, kMachine, kGuest, 1, 1, "Guest-path",
     "delete a file"},
    {Command::rename_file, "renameFileInGuest", Group::guest, kMachine, kGuest, 2, 2, "Guest-path New-path",
     "rename a file or directory"},
    {Command::create_directory, "createDirectoryInGuest", Group::guest, kMachine, kGuest, 1, 1, "Guest-path",
     "make a directory"},
    {Command::delete_directory, "deleteDirectoryInGuest", Group::guest, kMachine, kGuest, 1, 1, "Guest-path",
     "delete a directory and what is in it"},
    {Command::list_directory, "listDirectoryInGuest", Group::guest, kMachine, kGuest, 1, 1, "Guest-path",
     "name what is in a directory"},
    {Command::create_temp_file, "CreateTempfileInGuest", Group::guest, kMachine, kGuest, 0, 0, "",
     "make an empty file with a new name"},
    {Command::capture_screen, "captureScreen", Group::guest, kMachine, kGuest, 1, 1, "Host-path",
     "write the screen to a PNG file"},
    {Command::type_keystrokes, "typeKeystrokesInGuest", Group::guest, kMachine, kGuest, 1, 1, "Text",
     "press keys of a US keyboard"},
    {Command::get_ip_address, "getGuestIPAddress", Group::guest, kMachine, kFree, 0, 0, "[-wait]",
     "say the guest's address"},
    {Command::read_variable, "readVariable", Group::guest, kMachine, kFree, 2, 2,
     "[runtimeConfig|guestEnv|guestVar] Name", "say the value of a variable"},
    {Command::write_variable, "writeVariable", Group::guest, kMachine, kFree, 3, 3,
     "[runtimeConfig|guestEnv|guestVar] Name Value", "set a variable"},

    {Command::list, "list", Group::general, Target::none, kFree, 0, 0, "", "name the running machines"},
    {Command::clone, "clone", Group::general, kMachine, kFree, 2, 2,
     "Path-to-new-vmx full|linked [-snapshot=Snapshot-name] [-cloneName=Name]",
     "make another machine from this one"},
    {Command::delete_vm, "deleteVM", Group::general, kMachine, kFree, 0, 0, "", "delete a machine"},
    {Command::check_tools_state, "checkToolsState", Group::general, kMachine, kFree, 0, 0, "",
     "say how the guest's Tools are"},

    {Command::unsupported, "setSharedFolderState", Group::not_here, kMachine, kGuest, 0, kAny, "", ""},
    {Command::unsupported, "addSharedFolder", Group::not_here, kMachine, kGuest, 0, kAny, "", ""},
    {Command::unsupported, "removeSharedFolder", Group::not_here, kMachine, kGuest, 0, kAny, "", ""},
    {Command::unsupported, "enableSharedFolders", Group::not_here, kMachine, kGuest, 0, kAny, "", ""},
    {Command::unsupported, "disableSharedFolders", Group::not_here, kMachine, kGuest, 0, kAny, "", ""},
    {Command::unsupported, "connectNamedDevice", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "disconnectNamedDevice", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "listNetworkAdapters", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "addNetworkAdapter", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "setNetworkAdapter", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "deleteNetworkAdapter", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "installTools", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "upgradevm", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "register", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "unregister", Group::not_here, kMachine, kFree, 0, kAny, "", ""},
    {Command::unsupported, "listRegisteredVM", Group::not_here, Target::none, kFree, 0, kAny, "", ""},
    {Command::unsupported, "listHostNetworks", Group::not_here, Target::none, kFree, 0, kAny, "", ""},
    {Command::unsupported, "listPortForwardings", Group::not_here, Target::none, kFree, 0, kAny, "", ""},
    {Command::unsupported, "setPortForwarding", Group::not_here, Target::none, kFree, 0, kAny, "", ""},
    {Command::unsupported, "deletePortForwarding", Group::not_here, Target::none, kFree, 0, kAny, "", ""},
    {Command::unsupported, "downloadPhotonVM", Group::not_here, Target::none, kFree, 0, kAny, "", ""},
};

}  // namespace

std::span<const Verb> vocabulary() { return kVerbs; }

const Verb* verb_named(std::string_view name) {
  for (const Verb& verb : kVerbs) {
    if (vmware::compare_vmx_keys(verb.name, name) == 0) return &verb;
  }
  return nullptr;
}

const Verb& verb_of(Command command) {
  for (const Verb& verb : kVerbs) {
    if (verb.command == command) return verb;
  }
  return kVerbs[0];
}

}  // namespace standin
