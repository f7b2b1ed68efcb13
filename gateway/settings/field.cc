#include "gateway/settings/field.h"

#include <charconv>
#include <cstdint>
#include <string>

#include "gateway/settings/folder.h"

namespace gateway {
namespace {

using Text = std::string_view;

// `~/` is the home folder, as in a shell; everything else is absolute.
Result<void> path_into(std::string& to, Text given) {
  std::string expanded(given);
  if (given.starts_with("~/") && !home_folder().empty()) expanded = home_folder() + expanded.substr(1);
  Text text = expanded;
  if (text.empty() || text.front() != '/')
    return policy::fail("settings.path", "must be an absolute path, or begin with `~/`");
  if (text.find('\0') != Text::npos || text.size() > 4000)
    return policy::fail("settings.path", "is no usable path");
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  to = text;
  return {};
}

Result<std::int64_t> count_of(Text text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return policy::fail("settings.count", "must be a whole number from " + std::to_string(least) + " to " +
                                              std::to_string(most));
  }
  return value;
}

// `90s`, `45m`, `2h`; a bare number is taken in `bare` seconds a unit where the older variables have none.
Result<std::chrono::seconds> duration_of(Text text, std::int64_t bare = 0) {
  std::int64_t unit = bare;
  if (text.ends_with('s')) unit = 1;
  if (text.ends_with('m')) unit = 60;
  if (text.ends_with('h')) unit = 3600;
  if (unit == 0)
    return policy::fail("settings.duration", "must be a duration with its unit, as in `90s`, `45m`, `2h`");
  if (!text.empty() && (text.back() < '0' || text.back() > '9')) text.remove_suffix(1);
  const auto value = count_of(text, 0, 10'000'000);
  if (!value)
    return policy::fail("settings.duration", "must be a duration with its unit, as in `90s`, `45m`, `2h`");
  return std::chrono::seconds(*value * unit);
}

Result<void> duration_into(std::chrono::seconds& to, Text text, std::int64_t least, std::int64_t most,
                           std::int64_t bare = 0) {
  const auto value = duration_of(text, bare);
  if (!value) return tl::unexpected(value.error());
  if (value->count() < least || value->count() > most) {
    return policy::fail("settings.duration",
                        "must lie between " + std::to_string(least) + "s and " + std::to_string(most) + "s");
  }
  to = *value;
  return {};
}

Result<void> name_into(std::string& to, Text text) {
  constexpr Text allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (text.empty() || text.size() > 60 || text.find_first_not_of(allowed) != Text::npos ||
      text.front() == '-') {
    return policy::fail("settings.name", "must be 1 to 60 letters, digits, dots, dashes or underscores");
  }
  to = text;
  return {};
}

Result<void> password_into(Secret& to, Text text) {
  if (text.empty() || text.front() == '-' || text.size() > 200) {
    return policy::fail("settings.password", "must not be empty or begin with a dash: vmrun cannot take it");
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return policy::fail("settings.password", "must not hold control characters");
    }
  }
  to = Secret(std::string(text));
  return {};
}

// Names joined by `:`.
Result<void> policies_into(std::vector<std::string>& to, Text given) {
  std::vector<std::string> files;
  while (true) {
    const auto colon = given.find(':');
    std::string path(kDefaultPolicy);
    if (given.substr(0, colon) != kDefaultPolicy) {
      if (auto ok = path_into(path, given.substr(0, colon)); !ok) return ok;
    }
    files.push_back(std::move(path));
    if (colon == Text::npos) break;
    given.remove_prefix(colon + 1);
  }
  to = std::move(files);
  return {};
}

const Field kFields[] = {
    {"deployment", "", "text", "automatic",
     "`personal`: an owner process of this user's own. `service`: the system's service. `automatic`: the "
     "service where one runs.",
     [](Settings& s, Text t) -> Result<void> {
       if (t == "automatic") {
         s.deployment = Deployment::automatic;
       } else if (t == "personal") {
         s.deployment = Deployment::personal;
       } else if (t == "service") {
         s.deployment = Deployment::service;
       } else {
         return policy::fail("settings.deployment", "must be `automatic`, `personal` or `service`");
       }
       return {};
     }},
    {"service_group", "", "text", "sallyport-users",
     "Members of this group may connect to the service. Read by the service only.",
     [](Settings& s, Text t) { return name_into(s.service_group, t); }},
    {"vmrun", "VMRUN_PATH", "path", "VMware's when base_vmx is set and it is installed, else the stand-in",
     "The vmrun program that drives the virtual machines.",
     [](Settings& s, Text t) { return path_into(s.vmrun, t); }},
    {"base_vmx", "BASE_VMX", "path", "the image that `sallyport image build` makes",
     "The base virtual machine. It is read and cloned, never started or changed.",
     [](Settings& s, Text t) { return path_into(s.base_vmx, t); }},
    {"snapshot", "SNAPSHOT", "text", "clean",
     "The powered-off snapshot of the base that sandboxes are cloned from.",
     [](Settings& s, Text t) { return name_into(s.snapshot, t); }},
    {"guest_user", "GUEST_USER", "text", "what the image says", "The account in the guest.",
     [](Settings& s, Text t) { return name_into(s.guest_user, t); }},
    {"guest_password_file", "", "path", "what the image says",
     "A file (0600) with the guest account's password. It is a throw-away password: vmrun shows it to every "
     "local "
     "user in its arguments.",
     [](Settings& s, Text t) -> Result<void> {
       std::string path;
       if (auto ok = path_into(path, t); !ok) return ok;
       s.guest_password_file = path;
       auto text = read_secret_file(path, 1024);
       if (!text) return tl::unexpected(text.error());
       while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
       return password_into(s.guest_password, *text);
     }},
    {"", "GUEST_PASSWORD", "text", "", "The same password in the environment; prefer guest_password_file.",
     [](Settings& s, Text t) { return password_into(s.guest_password, t); }},
    {"clones_dir", "CLONES_DIR", "path", "<state_dir>/clones", "Where sandboxes live. Used for nothing else.",
     [](Settings& s, Text t) { return path_into(s.clones_dir, t); }},
    {"transfer_dir", "TRANSFER_DIR", "path", "~/sallyport-transfer",
     "The one host folder that copies in and out can reach.",
     [](Settings& s, Text t) { return path_into(s.transfer_dir, t); }},
    {"state_dir", "", "path", "$XDG_STATE_HOME/sallyport or ~/.local/state/sallyport",
     "Socket, locks, log and clones. One owner process serves one state folder.",
     [](Settings& s, Text t) { return path_into(s.state_dir, t); }},
    {"audit_dir", "", "path", "<state_dir>/audit", "Where the audit log is written.",
     [](Settings& s, Text t) { return path_into(s.audit_dir, t); }},
    {"policy", "", "list", "the built-in default (policies/default.yaml)",
     "Policy files, and folders of *.yaml files; the word `default` stands for the built-in default, so that "
     "rules can be added to it. /etc/sallyport/policy.d/*.yaml is loaded above them, always. In the "
     "environment and on the command line, names are joined by `:`.",
     [](Settings& s, Text t) { return policies_into(s.policies, t); }},
    {"shadow_policy", "", "list", "none",
     "Policy files and folders, as in `policy`, that are tried out beside it: what they would decide "
     "otherwise is recorded and counted (`sallyport policy status`), and never enforced.",
     [](Settings& s, Text t) { return policies_into(s.shadow_policies, t); }},
    {"max_sandboxes", "MAX_SANDBOXES", "count", "3",
     "How many sandboxes may exist at once, those being made included.",
     [](Settings& s, Text t) -> Result<void> {
       const auto value = count_of(t, 1, 64);
       if (!value) return tl::unexpected(value.error());
       s.max_sandboxes = *value;
       return {};
     }},
    {"max_age", "", "duration", "2h", "A sandbox older than this is destroyed.",
     [](Settings& s, Text t) { return duration_into(s.max_age, t, 60, 7 * 86400); }},
    {"", "MAX_AGE_MINUTES", "count", "", "The same in minutes.",
     [](Settings& s, Text t) { return duration_into(s.max_age, t, 60, 7 * 86400, 60); }},
    {"boot_timeout", "", "duration", "180s", "How long a new sandbox may take until a command runs in it.",
     [](Settings& s, Text t) { return duration_into(s.boot_timeout, t, 5, 3600); }},
    {"", "BOOT_TIMEOUT_SECONDS", "count", "", "The same in seconds.",
     [](Settings& s, Text t) { return duration_into(s.boot_timeout, t, 5, 3600, 1); }},
    {"max_wait", "", "duration", "45s",
     "How long sandbox_run waits before it answers `running` with a job id. Clients give up at 60 s.",
     [](Settings& s, Text t) { return duration_into(s.max_wait, t, 1, 3600); }},
    {"reattach", "", "duration", "10m",
     "How long a sandbox stays when no client of its principal is connected any more.",
     [](Settings& s, Text t) { return duration_into(s.reattach, t, 0, 7 * 86400); }},
    {"idle_exit", "", "duration", "5m",
     "How long the owner stays after the last sandbox and client are gone.",
     [](Settings& s, Text t) { return duration_into(s.idle_exit, t, 1, 7 * 86400); }},
    {"remote_input", "REMOTE_INPUT", "true or false", "false",
     "Whether policies/default.yaml lets click, type and key pass; policy reads it as settings.remote_input.",
     [](Settings& s, Text t) -> Result<void> {
       const bool on = t == "on" || t == "true";
       if (!on && t != "off" && t != "false") {
         return policy::fail("settings.switch", "must be `true` or `false`");
       }
       s.remote_input = on ? Switch::on : Switch::off;
       return {};
     }},
    {"web_vnet", "WEB_VNET", "text", "",
     "Host-only network for web mode on VMware. Web mode is not set up yet.",
     [](Settings& s, Text t) { return name_into(s.web_vnet, t); }},
    {"web_proxy_host", "WEB_PROXY_HOST", "text", "", "This computer's address on that network.",
     [](Settings& s, Text t) -> Result<void> {
       if (t.empty() || t.size() > 45 || t.find_first_not_of("0123456789abcdefABCDEF.:") != Text::npos) {
         return policy::fail("settings.address", "must be an IP address");
       }
       s.web_proxy_host = t;
       return {};
     }},
    {"web_proxy_port", "WEB_PROXY_PORT", "count", "3128", "Port of the proxy on that address.",
     [](Settings& s, Text t) -> Result<void> {
       const auto value = count_of(t, 1, 65535);
       if (!value) return tl::unexpected(value.error());
       s.web_proxy_port = *value;
       return {};
     }},
    {"web_ports", "WEB_PORTS", "text", "80,443",
     "Ports that web mode may reach; policy reads it as settings.web_ports.",
     [](Settings& s, Text t) -> Result<void> {
       for (Text left = t;;) {
         const auto comma = left.find(',');
         if (const auto port = count_of(left.substr(0, comma), 1, 65535); !port) {
           return policy::fail("settings.ports", "must be port numbers joined by commas, as in `80,443`");
         }
         if (comma == Text::npos) break;
         left.remove_prefix(comma + 1);
       }
       s.web_ports = t;
       return {};
     }},
};

}  // namespace

std::span<const Field> fields() { return kFields; }

}  // namespace gateway
