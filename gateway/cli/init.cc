#include <cstdio>

#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/image/images.h"
#include "gateway/owner/deployment.h"
#include "gateway/settings/field.h"
#include "gateway/settings/folder.h"
#include "gateway/setup/setup.h"
#include "policy/compile.h"

namespace gateway::cli {
namespace {

std::string commented_settings(const std::string& policy_file) {
  std::string text =
      "# Sallyport's settings. A line without `#` in front is in force; the others show what holds anyway.\n"
      "# `sallyport settings` explains each; `sallyport doctor` says whether all is well.\n"
      "sallyport: settings/v1\n\n"
      "# What agents may do. `sallyport policy check` tells about mistakes.\n"
      "policy: [\"" +
      policy_file + "\"]\n";
  for (const auto& field : fields()) {
    if (field.name.empty() || field.name == "policy") continue;
    text += "\n# " + std::string(field.meaning) +
            "\n# Default: " + (field.preset.empty() ? std::string("none") : std::string(field.preset)) +
            "\n# " + std::string(field.name) + ":\n";
  }
  return text;
}

Result<void> write_new(const std::string& path, const std::string& text) {
  if (is_regular_file(path)) {
    std::printf("kept     %s (it was there already)\n", path.c_str());
    return {};
  }
  auto written = write_private_file(path, text);
  if (written) std::printf("wrote    %s\n", path.c_str());
  return written;
}

}  // namespace

int init(const Sources& sources, const std::string& named, InitImage image) {
  if (named.empty()) {
    const auto service = find_service(load_settings(sources), kServiceSocket, std::chrono::seconds(2));
    if (!service) return complain(service.error());
    if (*service) {
      std::printf(
          "The Sallyport service runs on this computer; its administrator's settings and policy hold.\n"
          "`sallyport status` names your transfer folder.\n\n"
          "For Claude Code:\n\n  claude mcp add sallyport -- %s serve\n",
          own_executable().c_str());
      return 0;
    }
  }
  std::string folder = named;
  if (folder.empty()) {
    const auto at = sources.environment.find("XDG_CONFIG_HOME");
    folder = at != sources.environment.end() && at->second.starts_with('/')
                 ? at->second + "/sallyport"
                 : home_folder() + "/.config/sallyport";
  }
  if (!folder.starts_with('/')) {
    return complain(policy::Error{"init.folder", "name the folder with an absolute path"});
  }
  const auto settings_file = folder + "/sallyport.yaml", policy_file = folder + "/policy.yaml";
  if (auto made = make_private_folder(folder); !made) return complain(made.error());
  if (auto done = write_new(policy_file, std::string(policy::default_policy_text())); !done)
    return complain(done.error());
  if (auto done = write_new(settings_file, commented_settings(policy_file)); !done)
    return complain(done.error());

  auto now = sources;
  now.config_flag = settings_file;
  const auto settings = load_settings(now);
  std::printf("transfer %s\nstate    %s\nlog      %s\n", settings.transfer_dir.c_str(),
              settings.state_dir.c_str(), settings.audit().c_str());
  auto setup = look_around(settings);
  const bool own_image = settings.base_vmx.empty() && !is_regular_file(default_image_vmx());
  if (own_image && image == InitImage::build) {
    std::printf("image    making the base image, once; this takes some minutes\n");
    std::fflush(stdout);
    if (image_build(now, "debian-12", {}) == 0) setup = look_around(settings);
  }
  for (const auto& problem : setup.problems) {
    std::printf("to do    %s%s%s\n", problem.where.c_str(), problem.where.empty() ? "" : ": ",
                problem.message.c_str());
  }
  // The settings file is found by itself where it usually stands.
  const auto config = named.empty() ? std::string() : " --config " + settings_file;
  std::printf("\nFor Claude Code:\n\n  claude mcp add sallyport -- %s serve%s\n", own_executable().c_str(),
              config.c_str());
  return 0;
}

}  // namespace gateway::cli
