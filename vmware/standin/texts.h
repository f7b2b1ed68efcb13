#pragma once

#include <string_view>

// What VMware's vmrun prints, word for word; callers recognise failures by these sentences.
namespace standin::texts {

inline constexpr std::string_view kVersion = "1.17.0 build-qemu";

inline constexpr std::string_view kNotPoweredOn = "The virtual machine is not powered on";
inline constexpr std::string_view kAlreadyRunning =
    "The virtual machine should not be powered on. It is already running.";
inline constexpr std::string_view kToolsNotRunning =
    "The VMware Tools are not running in the virtual machine";
inline constexpr std::string_view kAnonymous =
    "Anonymous guest operations are not allowed on this virtual machine. You must call VixVM_LoginInGuest "
    "before "
    "performing guest operations";
inline constexpr std::string_view kWrongLogin = "Invalid user name or password for the guest OS";
inline constexpr std::string_view kGuestPermission = "Insufficient permissions in guest operating system";
inline constexpr std::string_view kHostPermission = "Insufficient permissions in the host operating system";
inline constexpr std::string_view kCannotOpen = "Cannot open VM: ";
inline constexpr std::string_view kNotFound = "The virtual machine cannot be found";
inline constexpr std::string_view kUnreadable = "Cannot read the virtual machine configuration file";
inline constexpr std::string_view kNotAMachine = "The file specified is not a valid virtual machine";
inline constexpr std::string_view kNoSnapshot = "The snapshot does not exist";
inline constexpr std::string_view kSnapshotExists = "A snapshot with the name already exists";
inline constexpr std::string_view kFileNotFound = "A file was not found";
inline constexpr std::string_view kFileExists = "The file already exists";
inline constexpr std::string_view kFileInUse = "The file is already in use";
inline constexpr std::string_view kCanceled = "The operation was canceled";
inline constexpr std::string_view kInvalidParameter = "One of the parameters was invalid";
inline constexpr std::string_view kNotSupported =
    "The operation is not supported for the specified parameters";
inline constexpr std::string_view kUnknownError = "Unknown error";
inline constexpr std::string_view kCommunication = "There was an error in communication";
// Nobody has told what VMware's says here; the condition is VIX_E_NO_SUCH_PROCESS.
inline constexpr std::string_view kNoProcess = "The process does not exist";
inline constexpr std::string_view kInvalidArgument = "Invalid argument: ";
inline constexpr std::string_view kUnknownCommand = "Unrecognized command: ";
inline constexpr std::string_view kWrongHost =
    "Unable to connect to host.\nError: The specified version was not found: only -T ws is served here, "
    "instead of "
    "VIX_SERVICEPROVIDER_VMWARE_WORKSTATION";

inline constexpr std::string_view kGuestFailed = "Guest program exited with non-zero exit code: ";
inline constexpr std::string_view kFileIsThere = "The file exists.";
inline constexpr std::string_view kFileIsNotThere = "The file does not exist.";
inline constexpr std::string_view kDirectoryIsThere = "The directory exists.";
inline constexpr std::string_view kDirectoryIsNotThere = "The directory does not exist.";

}  // namespace standin::texts
