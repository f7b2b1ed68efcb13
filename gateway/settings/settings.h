#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/digest.h"
#include "policy/request.h"
#include "policy/result.h"

namespace gateway {

using policy::Result;

// A text that must not reach a log, an error or another process by accident: it has no stream operator and no
// comparison, and reading it is a word one can search for.
class Secret final {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

enum class Switch { off, on };

// Whose owner process a command talks to: the system's service, where one runs and nothing else was said; an
// owner of this user's own; or that of the service, or none.
enum class Deployment { automatic, personal, service };

// What stands for the built-in policy among policy files.
inline constexpr char kDefaultPolicy[] = "default";

// Where the service listens, and what it reads.
inline constexpr char kServiceSocket[] = "/run/sallyport/owner.sock";
inline constexpr char kServiceSettings[] = "/etc/sallyport/sallyport.yaml";
inline constexpr char kServiceState[] = "/var/lib/sallyport";
inline constexpr char kServiceTransfer[] = "/var/lib/sallyport-transfer";

// Everything that can be set. Paths are absolute.
struct Settings {
  Deployment deployment = Deployment::automatic;
  std::string service_group = "sallyport-users";  // its members may connect to the service
  Switch state_named = Switch::off;               // `state_dir` was set, and not found by itself
  std::string vmrun;                              // empty: found by itself
  std::string base_vmx;                           // empty: the default image
  std::vector<std::string> config_files;          // read, or read if they were there
  std::string guest_password_file;
  std::string snapshot = "clean";
  std::string guest_user;    // empty: what the image says of itself
  Secret guest_password;     // empty: what the image says of itself
  std::string clones_dir;    // empty: <state_dir>/clones
  std::string transfer_dir;  // empty: ~/sallyport-transfer; of the service, the folder of each user's own
  std::string state_dir;
  std::string audit_dir;                     // empty: <state_dir>/audit
  std::vector<std::string> policies;         // files, folders, or kDefaultPolicy; empty: the built-in default
  std::vector<std::string> shadow_policies;  // likewise; empty: none is tried out
  std::int64_t max_sandboxes = 3;
  std::chrono::seconds max_age{std::chrono::hours(2)};
  std::chrono::seconds boot_timeout{180};
  std::chrono::seconds max_wait{45};
  std::chrono::seconds reattach{std::chrono::minutes(10)};
  std::chrono::seconds idle_exit{std::chrono::minutes(5)};
  Switch remote_input = Switch::off;
  std::string web_vnet;
  std::string web_proxy_host;
  std::int64_t web_proxy_port = 3128;
  std::string web_ports = "80,443";

  // What is wrong with the configuration, all of it. Not empty: the server starts and refuses every call with
  // this.
  std::vector<policy::Error> problems;
  // Over everything that was set, secrets through a digest: two processes with the same one mean the same.
  policy::Sha256 digest;

  std::string socket_path() const {
    return deployment == Deployment::service ? kServiceSocket : state_dir + "/owner.sock";
  }
  std::string clones() const { return clones_dir.empty() ? state_dir + "/clones" : clones_dir; }
  std::string audit() const { return audit_dir.empty() ? state_dir + "/audit" : audit_dir; }
  // What policy may read as `settings.<name>`.
  policy::Facts facts() const;
};

// Where a value may come from, later ones winning: the YAML file, VMSANDBOX_* (for those who come from
// vmware-sandbox-mcp), SALLYPORT_*, a flag.
struct Sources {
  std::map<std::string, std::string, std::less<>> environment;
  std::optional<std::string> config_flag;                 // --config
  std::map<std::string, std::string, std::less<>> flags;  // by setting name
};

// Reads all of it. Never fails: what is wrong stands in `problems`. An empty `state_dir` means that no place
// for state could be found; its problem says what to set.
Settings load_settings(const Sources&);

// The same for a running process: its own environment.
Sources sources_from_environment();

// docs/settings.md, rendered from the table the reader uses.
std::string settings_markdown();

}  // namespace gateway
