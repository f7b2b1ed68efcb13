#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "policy/result.h"

namespace vmware {

// Where the machines come from and where they live. All paths are absolute.
struct MachineSettings {
  std::string vmrun;  // the program
  // Its environment, `NAME=value`; nothing else reaches it. vmrun_environment() picks what it needs.
  std::vector<std::string> environment;
  std::string base_vmx;
  std::string snapshot;  // powered-off, of the base
  std::string clones;    // folder for nothing but sandboxes; made when it is missing
  std::string state;  // private folder for locks, results of jobs and bytes on their way; made when missing
  std::string guest_user;
  std::string guest_password;  // of a throw-away account; stands in vmrun's argv and nowhere else
  std::chrono::seconds boot_timeout{180};
  std::chrono::seconds max_age{7200};  // a fresh sandbox's life; a policy's `sandbox_age` may shorten it
  std::chrono::seconds reattach{600};  // how long a dead owner's sandboxes wait to be adopted
};

// Refuses what vmrun could misread: relative paths, bytes outside printable ASCII, a snapshot name outside
// `[A-Za-z0-9._-]{1,60}`, an empty password or one that looks like a flag. Codes: `settings.<field>`.
policy::Result<> check_settings(const MachineSettings&);

// The variables of this process that vmrun may see: search path, home, locale, runtime folder, display, and
// those of the stand-in (`VMRUN_*`, `SALLYPORT_VMRUN_*`).
std::vector<std::string> vmrun_environment(const char* const* environment);

}  // namespace vmware
