#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "policy/result.h"

namespace vmware {

// Whom guest operations log in as.
struct GuestLogin {
  std::string user;
  std::string password;  // of a throw-away account; stands in vmrun's argv and nowhere else
};

// A machine that sandboxes are cloned from.
struct Base {
  std::string vmx;
  std::string snapshot;
  GuestLogin login;
};

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
  std::string guest_password;
  // Finds a further base by its name; called on the deciding thread, looks at files. Empty: there are none.
  std::function<policy::Result<Base>(const std::string& image)> find_image = {};
  std::chrono::seconds boot_timeout{180};
  std::chrono::seconds power_off_patience{20};  // for a machine that was told to stop
  std::chrono::seconds max_age{7200};  // a fresh sandbox's life; a policy's `sandbox_age` may shorten it
  std::chrono::seconds reattach{600};  // how long a dead owner's sandboxes wait to be adopted
};

// Refuses what vmrun could misread: relative paths, bytes outside printable ASCII, a snapshot name outside
// `[A-Za-z0-9._-]{1,60}`, an empty password or one that looks like a flag. Codes: `settings.<field>`.
policy::Result<> check_settings(const MachineSettings&);
// The same for a base.
policy::Result<> check_base_settings(const Base&);

// The base that goes by that name; with no name that of the settings. Codes: `image.unknown`, `settings.*`,
// and what find_image says.
policy::Result<Base> base_named(const MachineSettings&, const std::string& image);

// The variables of this process that vmrun may see: search path, home, locale, runtime folder, display, and
// those of the stand-in (`VMRUN_*`, `SALLYPORT_VMRUN_*`).
std::vector<std::string> vmrun_environment(const char* const* environment);

}  // namespace vmware
