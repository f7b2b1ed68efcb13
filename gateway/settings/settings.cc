#include "gateway/settings/settings.h"

#include <algorithm>
#include <cstdlib>

#include "gateway/settings/field.h"
#include "gateway/settings/folder.h"
#include "policy/json.h"
#include "policy/yaml.h"

extern char** environ;

namespace gateway {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20;
constexpr std::string_view kVersionKey = "sallyport";
constexpr std::string_view kVersion = "settings/v1";

std::string upper(std::string_view name) {
  std::string out(name);
  for (auto& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

class Loader {
 public:
  explicit Loader(const Sources& sources) : sources_(sources) {}

  Settings load() {
    choose_deployment();
    read_file();
    for (const auto& field : fields()) {
      if (!field.vmsandbox.empty()) from_environment(field, "VMSANDBOX_" + std::string(field.vmsandbox));
    }
    if (set("VMSANDBOX_AUDIT_LOG")) {
      problem("settings.audit_log", "the log is a folder with a chain here, not one file; set `audit_dir`",
              "VMSANDBOX_AUDIT_LOG");
    }
    for (const auto& field : fields()) {
      if (!field.name.empty()) from_environment(field, "SALLYPORT_" + upper(field.name));
    }
    for (const auto& [name, value] : sources_.flags) {
      for (const auto& field : fields()) {
        if (field.name == name) apply(field, value, "--" + name);
      }
    }
    places();
    digest();
    return std::move(settings_);
  }

 private:
  // Before anything else: it says which file is read.
  void choose_deployment() {
    const auto flag = sources_.flags.find("deployment");
    const auto* variable = set("SALLYPORT_DEPLOYMENT");
    const std::string chosen = flag != sources_.flags.end() ? flag->second
                               : variable != nullptr        ? *variable
                                                            : "";
    if (chosen == "service") settings_.deployment = Deployment::service;
  }

  const std::string* set(std::string_view variable) const {
    const auto at = sources_.environment.find(variable);
    return at == sources_.environment.end() ? nullptr : &at->second;
  }

  void problem(std::string code, std::string message, std::string where) {
    settings_.problems.push_back({std::move(code), std::move(message), std::move(where)});
  }

  void from_environment(const Field& field, const std::string& variable) {
    if (const auto* value = set(variable)) apply(field, *value, variable);
  }

  // The value itself is never repeated: it may be a password.
  void apply(const Field& field, std::string_view text, std::string where) {
    if (auto done = field.set(settings_, text); !done) {
      const std::string name(field.name.empty() ? where : std::string(field.name));
      problem(done.error().code, "`" + name + "` " + done.error().message, std::move(where));
    }
  }

  void read_file() {
    std::string path;
    if (sources_.config_flag) {
      path = *sources_.config_flag;
    } else if (const auto* named = set("SALLYPORT_CONFIG")) {
      path = *named;
    } else {
      path = usual_config();
      if (!path.empty()) settings_.config_files.push_back(path);
      if (path.empty() || !is_regular_file(path)) return;
    }
    if (settings_.config_files.empty()) settings_.config_files.push_back(path);
    const auto text = read_small_file(path, kMaxFile);
    if (!text) {
      problem(text.error().code, text.error().message, path);
      return;
    }
    policy::Diagnostics found;
    const auto root = policy::yaml::read(*text, path, found);
    if (root) {
      if (root->kind != policy::yaml::Node::Kind::map) {
        found.error("S0001", path, root->at, "the settings must be a map of names and values");
      } else {
        for (const auto& entry : root->entries) from_entry(entry, path, found);
        if (root->find(kVersionKey) == nullptr) {
          found.error("S0002", path, root->at, "the first line must be `sallyport: settings/v1`");
        }
      }
    }
    for (const auto& one : found.take()) problem("settings." + one.code, one.message, one.where());
  }

  void from_entry(const policy::yaml::Entry& entry, const std::string& path, policy::Diagnostics& found) {
    using Kind = policy::yaml::Node::Kind;
    if (entry.key == kVersionKey) {
      if (entry.value.text != kVersion)
        found.error("S0002", path, entry.value.at, "only `settings/v1` is known");
      return;
    }
    std::vector<std::string_view> known{kVersionKey};
    for (const auto& field : fields()) {
      if (field.name.empty()) continue;
      known.push_back(field.name);
      if (field.name != entry.key) continue;
      std::string text = entry.value.text;
      if (entry.value.kind == Kind::list && field.kind == "list") {
        for (const auto& item : entry.value.items) {
          if (item.kind != Kind::scalar)
            return found.error("S0003", path, item.at, "must be a list of texts");
          text += (text.empty() ? "" : ":") + item.text;
        }
      } else if (entry.value.kind != Kind::scalar) {
        return found.error("S0003", path, entry.value.at, "`" + entry.key + "` must be a single value");
      }
      if (auto done = field.set(settings_, text); !done) {
        found.error("S0004", path, entry.value.at, "`" + entry.key + "` " + done.error().message);
      }
      return;
    }
    found.error("S0005", path, entry.at,
                "unknown setting `" + entry.key + "`" + policy::suggestion(entry.key, known));
  }

  std::string usual_config() const {
    if (settings_.deployment == Deployment::service) return kServiceSettings;
    if (const auto* base = set("XDG_CONFIG_HOME"); base != nullptr && base->starts_with('/')) {
      return *base + "/sallyport/sallyport.yaml";
    }
    const auto home = home_of_user();
    return home.empty() ? "" : home + "/.config/sallyport/sallyport.yaml";
  }

  std::string home_of_user() const {
    if (const auto* home = set("HOME"); home != nullptr && home->starts_with('/')) return *home;
    return home_folder();
  }

  void places() {
    settings_.state_named = settings_.state_dir.empty() ? Switch::off : Switch::on;
    if (settings_.deployment == Deployment::service) {
      if (settings_.state_dir.empty()) settings_.state_dir = kServiceState;
      if (settings_.transfer_dir.empty()) settings_.transfer_dir = kServiceTransfer;
      return;
    }
    const auto home = home_of_user();
    if (settings_.state_dir.empty()) {
      if (const auto* base = set("XDG_STATE_HOME"); base != nullptr && base->starts_with('/')) {
        settings_.state_dir = *base + "/sallyport";
      } else if (!home.empty()) {
        settings_.state_dir = home + "/.local/state/sallyport";
      } else {
        settings_.problems.insert(
            settings_.problems.begin(),
            {"settings.state_dir",
             "there is no home folder to keep state in; set `state_dir` in the settings file or "
             "SALLYPORT_STATE_DIR to an absolute path"});
      }
    }
    if (settings_.transfer_dir.empty() && !home.empty())
      settings_.transfer_dir = home + "/sallyport-transfer";
    if (settings_.transfer_dir.empty()) {
      problem("settings.transfer_dir", "there is no home folder for the transfer folder; set `transfer_dir`",
              "");
    }
  }

  void digest() {
    policy::Json::Object all;
    for (const auto& [name, value] : settings_.facts()) {
      all["fact." + name] = std::visit([](const auto& v) { return policy::Json(v); }, value);
    }
    const auto seconds = [](std::chrono::seconds s) { return policy::Json(std::int64_t{s.count()}); };
    all["vmrun"] = settings_.vmrun;
    all["base_vmx"] = settings_.base_vmx;
    all["snapshot"] = settings_.snapshot;
    all["guest_user"] = settings_.guest_user;
    all["guest_password"] = policy::sha256(settings_.guest_password.reveal()).hex();
    all["clones_dir"] = settings_.clones_dir;
    all["transfer_dir"] = settings_.transfer_dir;
    all["audit_dir"] = settings_.audit_dir;
    policy::Json::Array files;
    for (const auto& file : settings_.policies) files.emplace_back(file);
    all["policy"] = std::move(files);
    policy::Json::Array tried;
    for (const auto& file : settings_.shadow_policies) tried.emplace_back(file);
    all["shadow_policy"] = std::move(tried);
    all["boot_timeout"] = seconds(settings_.boot_timeout);
    all["max_wait"] = seconds(settings_.max_wait);
    all["reattach"] = seconds(settings_.reattach);
    all["idle_exit"] = seconds(settings_.idle_exit);
    policy::Json::Array wrong;
    for (const auto& one : settings_.problems) wrong.emplace_back(one.where + one.message);
    all["problems"] = std::move(wrong);
    settings_.digest = policy::sha256(policy::canonical(policy::Json(std::move(all))));
  }

  const Sources& sources_;
  Settings settings_;
};

}  // namespace

policy::Facts Settings::facts() const {
  policy::Facts facts;
  facts["remote_input"] = remote_input == Switch::on;
  facts["web"] = !web_vnet.empty() && !web_proxy_host.empty();
  facts["web_ports"] = web_ports;
  facts["max_sandboxes"] = max_sandboxes;
  facts["max_age"] = std::int64_t{max_age.count()};
  return facts;
}

Settings load_settings(const Sources& sources) { return Loader(sources).load(); }

Sources sources_from_environment() {
  Sources sources;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = entry.substr(0, equals);
    if (name == "HOME" || name.starts_with("XDG_") || name.starts_with("SALLYPORT_") ||
        name.starts_with("VMSANDBOX_")) {
      sources.environment.emplace(name, entry.substr(equals + 1));
    }
  }
  return sources;
}

std::string settings_markdown() {
  std::string out =
      "# Settings\n\n"
      "Where a value comes from, later ones winning: the settings file, `VMSANDBOX_*` (for those who come "
      "from\n"
      "vmware-sandbox-mcp), `SALLYPORT_*`, a flag. The file is what `--config` or `SALLYPORT_CONFIG` names, "
      "else\n"
      "`$XDG_CONFIG_HOME/sallyport/sallyport.yaml` or `~/.config/sallyport/sallyport.yaml` when it exists; "
      "with `deployment: service`\n"
      "by flag or variable it is `/etc/sallyport/sallyport.yaml`. It begins\n"
      "with `sallyport: settings/v1`; unknown names, repeated names and values of the wrong kind are errors "
      "with their\n"
      "line. A server with a wrong setting starts, lists its tools, and answers every call with what to "
      "change.\n\n"
      "Nothing has to be set: without any of these Sallyport uses its own image, the stand-in and its "
      "default policy.\n\n"
      "| setting | variable | flag | kind | default | meaning |\n|---|---|---|---|---|---|\n";
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? "\\|" : c == '<' ? "&lt;" : std::string(1, c);
    return escaped;
  };
  for (const auto& field : fields()) {
    std::string flag(field.name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    std::string variables = field.name.empty() ? "" : "`SALLYPORT_" + upper(field.name) + "`";
    if (!field.vmsandbox.empty()) {
      variables += (variables.empty() ? "`VMSANDBOX_" : ", `VMSANDBOX_") + std::string(field.vmsandbox) + "`";
    }
    out += "| " + (field.name.empty() ? std::string() : "`" + std::string(field.name) + "`") + " | " +
           variables + " | " + (flag.empty() ? std::string() : "`--" + flag + "`") + " | " +
           std::string(field.kind) + " | " + cell(field.preset) + " | " + cell(field.meaning) + " |\n";
  }
  out +=
      "\nWhose owner process a command talks to is found in this order: what `deployment` says; an owner of "
      "this user's own when\n"
      "`state_dir` is set; the service when its socket `/run/sallyport/owner.sock` is there; else an owner "
      "of "
      "this user's own, started\n"
      "when needed. A service that is there but does not let this user in, or does not answer, is an error "
      "and "
      "never a reason to start\n"
      "an owner beside it. With the service its own settings hold, and a client's are not used: see "
      "[service.md](service.md).\n"
      "\n`SALLYPORT_IMAGES_DIR` is the folder of base images (`$XDG_CACHE_HOME/sallyport/images` or "
      "`~/.cache/sallyport/images`).\n"
      "`SALLYPORT_CONFIG` and `--config` name the settings file itself. Names of other `SALLYPORT_*` "
      "variables, such as\n"
      "`SALLYPORT_VMRUN_DIR`, belong to the stand-in: see `vmware/standin/README.md`.\n";
  return out;
}

}  // namespace gateway
