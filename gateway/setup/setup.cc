#include "gateway/setup/setup.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "enforcers/path_jail/jail.h"
#include "gateway/image/images.h"
#include "gateway/mcp/json_reader.h"
#include "gateway/owner/child.h"
#include "gateway/settings/folder.h"
#include "gateway/setup/policy_files.h"

extern char** environ;

namespace gateway {
namespace {

constexpr char kVmwareVmrun[] = "/usr/bin/vmrun";

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// VMware's own where the user names a base VM and has it; the stand-in that comes with us everywhere else.
std::string find_vmrun(const Settings& settings) {
  if (!settings.vmrun.empty()) return settings.vmrun;
  if (!settings.base_vmx.empty() && is_executable(kVmwareVmrun)) return kVmwareVmrun;
  return sibling_program("sallyport-vmrun");
}

// Who may log in to an image of ours stands beside its .vmx.
Result<std::pair<std::string, Secret>> guest_login(const std::string& base_vmx) {
  const auto path = folder_of(base_vmx) + "/guest.json";
  if (!is_regular_file(path)) {
    return policy::fail("setup.guest_login",
                        "the guest account is not known; set `guest_user` and `guest_password_file`");
  }
  const auto text = read_secret_file(path, 4096);
  if (!text) return tl::unexpected(text.error());
  const auto read = mcp::read_json(*text);
  if (!read.value || !read.value->is_object()) {
    return policy::fail("setup.guest_login", "the image's guest.json is damaged; build the image again");
  }
  const auto member = [&](const char* name) {
    const auto at = read.value->find(name);
    return at != read.value->end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  return std::pair{member("user"), Secret(member("password"))};
}

Result<vmware::Base> find_image(const std::string& name) {
  const auto vmx = image_vmx(name);
  if (!policy::is_image_name(name) || !is_regular_file(vmx)) {
    return policy::fail("image.unknown", "there is no image `" + name +
                                             "`; leave `image` out for the usual one, or have the operator "
                                             "make it with `sallyport image build --name`");
  }
  const auto login = guest_login(vmx);
  if (!login) return tl::unexpected(login.error());
  return vmware::Base{vmx, kImageSnapshot, {login->first, login->second.reveal()}};
}

class Look {
 public:
  explicit Look(const Settings& settings) : settings_(settings) {}

  Setup take() {
    setup_.problems = settings_.problems;
    // What was set wrongly is not looked for.
    if (!settings_.problems.empty()) return std::move(setup_);
    auto& machine = setup_.machine;
    machine.vmrun = find_vmrun(settings_);
    machine.environment = vmware::vmrun_environment(environ);
    machine.base_vmx = settings_.base_vmx.empty() ? default_image_vmx() : settings_.base_vmx;
    machine.snapshot = settings_.snapshot;
    machine.clones = settings_.clones();
    machine.state = settings_.state_dir + "/machines";
    machine.boot_timeout = settings_.boot_timeout;
    machine.max_age = settings_.max_age;
    machine.reattach = settings_.reattach;
    if (!is_executable(machine.vmrun)) {
      problem("setup.vmrun",
              "there is no vmrun at `" + machine.vmrun +
                  "`; install VMware Workstation, build sallyport-vmrun with `./dev build release`, or "
                  "set `vmrun`");
    }
    machine.find_image = find_image;
    login();
    folders();
    if (setup_.problems.empty()) check(vmware::check_settings(machine));
    return std::move(setup_);
  }

 private:
  void problem(std::string code, std::string message) {
    setup_.problems.push_back({std::move(code), std::move(message)});
  }
  bool check(const Result<void>& result) {
    if (!result) setup_.problems.push_back(result.error());
    return result.has_value();
  }

  void login() {
    auto& machine = setup_.machine;
    if (!is_regular_file(machine.base_vmx)) {
      problem("setup.image",
              settings_.base_vmx.empty()
                  ? "there is no base image yet; run `sallyport image build` (once, some minutes)"
                  : "there is no base virtual machine at the path that `base_vmx` names; correct it or build "
                    "an image "
                    "with `sallyport image build`");
      return;
    }
    machine.guest_user = settings_.guest_user;
    machine.guest_password = settings_.guest_password.reveal();
    if (!machine.guest_user.empty() && !machine.guest_password.empty()) return;
    auto login = guest_login(machine.base_vmx);
    if (!login) {
      setup_.problems.push_back(login.error());
      return;
    }
    if (machine.guest_user.empty()) machine.guest_user = login->first;
    if (machine.guest_password.empty()) machine.guest_password = login->second.reveal();
  }

  void folders() {
    const bool ours = check(make_private_folder(setup_.machine.clones)) &&
                      check(make_private_folder(setup_.machine.state)) &&
                      check(make_private_folder(settings_.audit()));
    const bool theirs = check(make_work_folder(settings_.transfer_dir));
    if (!ours || !theirs) return;
    // In pairs and both directions: what an agent may write must never hold what it must not reach.
    std::vector<std::pair<const char*, std::string>> places{{"transfer_dir", settings_.transfer_dir},
                                                            {"clones_dir", setup_.machine.clones},
                                                            {"audit_dir", settings_.audit()}};
    if (is_regular_file(setup_.machine.base_vmx)) {
      places.emplace_back("the base VM's folder", folder_of(setup_.machine.base_vmx));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = i + 1; j < places.size(); ++j) apart(places[i], places[j]);
    }
    apart(places[0], {"state_dir", settings_.state_dir});
    for (const auto& [what, path] : deciding_files()) out_of_reach(what, path);
  }

  // Files that decide what this program does: a copy out of a sandbox must never be able to replace one.
  std::vector<std::pair<const char*, std::string>> deciding_files() const {
    std::vector<std::pair<const char*, std::string>> files{
        {"the vmrun program", setup_.machine.vmrun},
        {"this program", own_executable()},
        {"the image builder", image_recipe()},
        {"the system's policies", std::string(kSystemPolicies) + "/x"}};
    for (const auto& file : settings_.policies) {
      if (file != kDefaultPolicy) files.emplace_back("a policy file", is_folder(file) ? file + "/x" : file);
    }
    for (const auto& file : settings_.config_files) files.emplace_back("the settings file", file);
    if (!settings_.guest_password_file.empty())
      files.emplace_back("the password file", settings_.guest_password_file);
    for (const auto& entry : setup_.machine.environment) {
      if (entry.starts_with("SALLYPORT_VMRUN_DIR=")) {
        files.emplace_back("the stand-in's runtime folder", entry.substr(entry.find('=') + 1) + "/x");
      }
    }
    return files;
  }

  // A folder that is not there yet counts as its nearest parent that is.
  void out_of_reach(const char* what, const std::string& path) {
    std::string folder = folder_of(path);
    while (!folder.empty() && !is_folder(folder)) folder = folder_of(folder);
    const auto inside = enforcers::lies_within(folder.empty() ? "/" : folder, settings_.transfer_dir);
    if (!inside) {
      setup_.problems.push_back(inside.error());
    } else if (*inside) {
      problem("setup.overlap",
              std::string(what) + " (`" + path +
                  "`) lies in the transfer folder, where a copy out of a sandbox could replace it; "
                  "move it, or set another `transfer_dir`");
    }
  }

  void apart(const std::pair<const char*, std::string>& a, const std::pair<const char*, std::string>& b) {
    const auto same = enforcers::overlap(a.second, b.second);
    if (!same) {
      setup_.problems.push_back(same.error());
    } else if (*same) {
      problem("setup.overlap", std::string(a.first) + " and " + b.first + " overlap (`" + a.second + "`, `" +
                                   b.second + "`); choose folders of which none is inside another");
    }
  }

  const Settings& settings_;
  Setup setup_;
};

}  // namespace

Setup look_around(const Settings& settings) { return Look(settings).take(); }

policy::Error as_one(const std::vector<policy::Error>& problems) {
  if (problems.empty()) return {};
  policy::Error one = problems.front();
  if (!one.where.empty()) one.message = one.where + ": " + one.message;
  one.where.clear();
  if (problems.size() > 1) {
    one.message += "; and " + std::to_string(problems.size() - 1) + " more: `sallyport status` lists them";
  }
  return one;
}

}  // namespace gateway
