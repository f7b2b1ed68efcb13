#include "gateway/doctor/examine.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "audit/verify.h"
#include "gateway/doctor/program.h"
#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"
#include "policy/compile.h"
#include "vmware/base/base_machine.h"

namespace gateway::doctor {
namespace {

constexpr std::chrono::seconds kProgramTime{30};
constexpr std::chrono::seconds kPostureTime{30};

// Which check a problem of the set-up belongs to.
std::string_view check_of(std::string_view code) {
  if (code == "setup.overlap" || code == "path.root") return "overlap";
  if (code == "setup.vmrun") return "tools";
  if (code.starts_with("folder.") || code == "file.open_to_others") return "permissions";
  return "image";
}

std::string_view mend_of(std::string_view check) {
  if (check == "overlap") return "set other folders; `sallyport settings` explains each";
  if (check == "permissions") return "mend the folder as said, or set another one";
  if (check == "tools") return "install what is named, or correct `vmrun`";
  return "run `sallyport image build`, or correct `base_vmx`, `guest_user` and `guest_password_file`";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string size_text(std::uint64_t bytes) {
  const auto mib = bytes >> 20;
  return mib >= 10'240 ? std::to_string(mib >> 10) + " GiB" : std::to_string(mib) + " MiB";
}

void tool(const Host& host, const std::string& name, const std::string& package, Health without,
          Report& report) {
  const auto path = program_in(host.program_folders, name);
  if (path.empty()) {
    report.add(
        {"tools", without, "there is no `" + name + "`", "run `sudo apt-get install " + package + "`"});
    return;
  }
  const auto version = output_of({path, "--version"}, kProgramTime);
  if (!version) {
    report.add({"tools", Health::bad, version.error().message,
                "run `sudo apt-get install --reinstall " + package + "`"});
    return;
  }
  report.add({"tools", Health::good, name + ": " + first_line(*version)});
}

bool is_standin(const std::string& vmrun) { return vmrun.ends_with("/sallyport-vmrun"); }

void tools(const Setup& setup, const Host& host, Report& report) {
  if (is_executable(setup.machine.vmrun)) {
    report.add({"tools", Health::good, "vmrun: " + setup.machine.vmrun});
  }
  if (!is_standin(setup.machine.vmrun)) return;
  tool(host, "qemu-system-x86_64", "qemu-system-x86", Health::bad, report);
  tool(host, "qemu-img", "qemu-utils", Health::bad, report);
  // Only building an image needs it.
  tool(host, "mmdebstrap", "mmdebstrap", Health::notice, report);
}

void accelerator(const Setup& setup, const Host& host, Report& report) {
  if (!is_standin(setup.machine.vmrun)) return;
  switch (host.access(host.kvm)) {
    case Access::usable:
      report.add({"accelerator", Health::good, host.kvm + " may be used"});
      return;
    case Access::denied:
      report.add({"accelerator", Health::notice,
                  host.kvm + " is there and `" + host.user + "` may not use it",
                  "run `sudo adduser " + host.user + " kvm` and log in again"});
      return;
    case Access::absent:
      report.add({"accelerator", Health::notice,
                  "no " + host.kvm +
                      ": QEMU emulates in software, which is slow and by its own account no "
                      "security boundary",
                  "switch virtualisation on in the firmware, or nested virtualisation on the host, and run "
                  "`sudo modprobe kvm_intel` or `kvm_amd`"});
      return;
  }
}

// What the stand-in says of itself, a line each: `name: yes; …` or `name: no; …`.
void posture(const Setup& setup, Report& report) {
  if (!is_standin(setup.machine.vmrun) || !is_executable(setup.machine.vmrun)) return;
  const auto said = output_of({setup.machine.vmrun, "posture"}, kPostureTime);
  if (!said) {
    report.add({"confinement", Health::notice,
                "the stand-in does not say how it confines machines: " + said.error().message,
                "install both programs from one version"});
    return;
  }
  std::string in_force;
  std::string_view left = *said;
  while (!left.empty()) {
    const auto line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const auto name = std::string(line.substr(0, colon));
    const auto answer = line.substr(colon + 2);
    const auto why = std::string(answer.substr(std::min(answer.find("; ") + 2, answer.size())));
    const std::string check = name == "kvm" ? "accelerator" : "confinement";
    if (!answer.starts_with("yes")) {
      report.add({check, Health::notice, name + ": not in force", why});
    } else if (check == "accelerator") {
      report.add({check, Health::good, "kvm: " + why});
    } else {
      in_force += (in_force.empty() ? "" : ", ") + name;
    }
  }
  if (!in_force.empty()) report.add({"confinement", Health::good, in_force});
}

void disk(const char* what, const std::string& folder, const Host& host, Report& report) {
  if (!is_folder(folder)) return;
  const auto free = free_bytes(folder);
  if (!free) {
    report.add({"disk", Health::bad, free.error().message, "look at the disk of that folder"});
    return;
  }
  const auto says = size_text(*free) + " free for " + what + " (`" + folder + "`)";
  const auto health = *free < host.least_free    ? Health::bad
                      : *free < host.enough_free ? Health::notice
                                                 : Health::good;
  report.add(
      {"disk", health, says, health == Health::good ? "" : "free space there; a sandbox writes up to 4 GB"});
}

void policies(const Settings& settings, const Host& host, Report& report) {
  const auto files = read_policies(settings, host.system_policies, host.trusted);
  for (const auto& one : files.problems) {
    report.add({"policy", Health::bad, one.message, "mend the file; until then every call is refused"});
  }
  if (!files.problems.empty()) return;
  const auto compiled = policy::compile(files.sources, settings.facts());
  for (const auto& one : compiled.diagnostics) {
    report.add({"policy", compiled.program ? Health::notice : Health::bad, one.format(),
                "`sallyport policy check FILE` shows the place"});
  }
  if (compiled.program) {
    report.add({"policy", Health::good,
                "`" + compiled.program->name() + "` of " + std::to_string(files.sources.size()) +
                    (files.sources.size() == 1 ? " file" : " files") + ", its tests hold"});
  }
}

}  // namespace

Host this_host() {
  Host host;
  host.program_folders = program_folders();
  host.user = account_name(own_user());
  if (host.user.empty()) host.user = std::to_string(own_user());
  return host;
}

void examine(const Settings& settings, const Host& host, Report& report) {
  for (const auto& one : settings.problems) {
    report.add({"settings", Health::bad, (one.where.empty() ? "" : one.where + ": ") + one.message,
                "`sallyport settings` lists all settings"});
  }
  if (settings.problems.empty()) {
    std::string read = "no file of settings is read; what flags and the environment do not set is as usual";
    for (const auto& file : settings.config_files) {
      if (is_regular_file(file)) read = "read from " + file;
    }
    report.add({"settings", Health::good, read});
  }
  policies(settings, host, report);
  // What was set wrongly is not looked for.
  if (!settings.problems.empty()) return;
  const auto setup = look_around(settings);
  bool bad_image = false, bad_folders = false, overlap = false;
  for (const auto& one : setup.problems) {
    const auto check = check_of(one.code);
    bad_image |= check == "image";
    bad_folders |= check == "permissions";
    overlap |= check == "overlap";
    report.add({std::string(check), Health::bad, one.message, std::string(mend_of(check))});
  }
  tools(setup, host, report);
  if (!bad_image) {
    const auto sound = vmware::check_base(setup.machine.base_vmx, setup.machine.snapshot);
    report.add(sound ? Finding{"image", Health::good, setup.machine.base_vmx}
                     : Finding{"image", Health::bad, setup.machine.base_vmx + ": " + sound.error().message,
                               std::string(mend_of("image")) + " and `snapshot`"});
  }
  if (!bad_folders) report.add({"permissions", Health::good, "state, clones and log are this user's alone"});
  // Whether folders overlap is known only where they all could be made.
  if (!bad_folders && !overlap) report.add({"overlap", Health::good, "no folder lies inside another"});
  accelerator(setup, host, report);
  posture(setup, report);
  disk("sandboxes", setup.machine.clones, host, report);
  disk("copies", settings.transfer_dir, host, report);
}

void examine_owner(const Result<nlohmann::json>& status, Report& report) {
  if (!status) {
    report.add({"owner", Health::bad, status.error().message,
                status.error().code == "owner.start" ? "see owner.log in the state folder" : "do as said"});
    return;
  }
  const auto text = [&](const char* key) { return status->value(key, std::string()); };
  report.add({"owner", Health::good,
              "answers: version " + text("version") + ", " + text("deployment") + ", policy `" +
                  text("policy") + "`"});
  if (text("kill_switch") == "on") {
    report.add({"owner", Health::bad, "the kill switch is on: every call is refused",
                "run `sallyport kill-switch off`"});
  }
  if (text("version") != SALLYPORT_VERSION) {
    report.add({"owner", Health::bad, "this program is version " SALLYPORT_VERSION,
                "run `sallyport daemon --stop`; the next call starts this version"});
  }
  for (const auto& one : status->value("problems", nlohmann::json::array())) {
    if (one.is_string()) {
      report.add(
          {"owner", Health::bad, one.get<std::string>(), "`sallyport status` shows when it is mended"});
    }
  }
}

void examine_log(const std::string& folder, Report& report) {
  if (!is_folder(folder)) {
    report.add({"log", Health::good, "no log yet; it begins with the first decision"});
    return;
  }
  const auto verified = audit::verify(folder, {});
  const auto records = std::to_string(verified.records) + " whole records in `" + folder + "`";
  std::string why;
  if (verified.bad) {
    why = verified.bad->segment + " line " + std::to_string(verified.bad->line) + ": " +
          verified.bad->fault.what;
  } else if (!verified.missing.empty()) {
    why = verified.missing.front();
  } else if (!verified.warnings.empty()) {
    why = verified.warnings.front();
  }
  switch (verified.verdict) {
    case audit::Verdict::good:
      report.add({"log", Health::good, "verifies: " + records});
      return;
    case audit::Verdict::warnings:
      report.add(
          {"log", Health::notice, "verifies, with a warning: " + why, "`sallyport audit verify` says more"});
      return;
    case audit::Verdict::tampered:
      report.add({"log", Health::bad, "was changed: " + why,
                  "keep a copy of the folder and find out who did it; `sallyport audit verify` says more"});
      return;
    case audit::Verdict::incomplete:
      report.add(
          {"log", Health::bad, "cannot be judged whole: " + why, "`sallyport audit verify` says more"});
      return;
  }
}

}  // namespace gateway::doctor
