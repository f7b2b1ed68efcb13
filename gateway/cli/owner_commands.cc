#include <cstdio>

#include <nlohmann/json.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/image/images.h"
#include "gateway/net/unix_socket.h"
#include "gateway/owner/deployment.h"
#include "gateway/owner/owner.h"
#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"

namespace gateway::cli {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMaxAnswer = std::size_t{1} << 20;

}  // namespace

Result<Json> ask_owner(const Sources& sources, Hello::Kind kind, std::chrono::milliseconds within,
                       std::span<const int> descriptors, std::string name, std::string options) {
  auto owner =
      greet_owner(sources, load_settings(sources), kind, descriptors, std::move(name), std::move(options));
  if (!owner) return tl::unexpected(owner.error());
  return read_answer(*owner, kMaxAnswer, within);
}

int daemon(const Sources& sources, int ready_fd) {
  auto settings = load_settings(sources);
  if (settings.deployment == Deployment::automatic) {
    // Two owners on one computer are a person's choice, never an accident.
    const auto service = find_service(settings, kServiceSocket, {});
    if (!service) return complain(service.error());
    if (*service) {
      return complain(policy::Error{"service.running",
                                    "the Sallyport service runs on this computer; use it, or set "
                                    "SALLYPORT_DEPLOYMENT=personal for an owner of your own"});
    }
  }
  if (settings.state_dir.empty()) return complain(settings.problems.front());
  return run_owner(std::move(settings), ready_fd);
}

int stop_daemon(const Sources& sources) {
  const auto settings = load_settings(sources);
  const auto service = find_service(settings, kServiceSocket, {});
  if (!service) return complain(service.error());
  if (*service || settings.deployment == Deployment::service) {
    return complain(
        policy::Error{"service.administrator", "the service is stopped by `systemctl stop sallyport`"});
  }
  if (settings.state_dir.empty()) return complain(settings.problems.front());
  auto owner = connect_unix(settings.socket_path());
  if (!owner) {
    std::printf("no owner is running\n");
    return 0;
  }
  const Hello hello{Hello::Kind::stop, SALLYPORT_VERSION, settings.digest.hex()};
  if (auto sent = send_greeting(owner->get(), hello.encode(), {}, std::chrono::seconds(5)); !sent) {
    return complain(sent.error());
  }
  // The owner holds this lock until its very end.
  for (int tries = 0; tries < 500; ++tries) {
    if (take_lock(settings.state_dir + "/owner.lock")) {
      std::printf("stopped\n");
      return 0;
    }
    sleep_briefly();
  }
  return complain(policy::Error{"owner.stop", "the owner did not end within 5 s"});
}

int status(const Sources& sources, bool json) {
  const auto answer = ask_owner(sources, Hello::Kind::status, std::chrono::seconds(10));
  if (!answer) return complain(answer.error());
  if (json) {
    std::printf("%s\n", answer->dump().c_str());
    return 0;
  }
  for (const auto& [key, value] : answer->items()) {
    if (value.is_string()) {
      std::printf("%-14s %s\n", key.c_str(), value.get_ref<const std::string&>().c_str());
    } else if (value.is_array()) {
      if (value.empty()) std::printf("%-14s none\n", key.c_str());
      for (const auto& one : value) {
        std::printf("%-14s %s\n", key.c_str(),
                    one.is_string() ? one.get_ref<const std::string&>().c_str() : one.dump().c_str());
      }
    } else {
      std::printf("%-14s %s\n", key.c_str(), value.dump().c_str());
    }
  }
  return 0;
}

int kill_switch(const Sources& sources, KillSwitchPosition position) {
  const auto on = position == KillSwitchPosition::on;
  const auto answer = ask_owner(sources, on ? Hello::Kind::kill_switch_on : Hello::Kind::kill_switch_off,
                                std::chrono::minutes(5));
  if (!answer) return complain(answer.error());
  std::printf(on ? "all sandboxes are gone and every call is refused; `sallyport kill-switch off` lifts it\n"
                 : "calls are judged by the policy again\n");
  return 0;
}

int image_build(const Sources& sources, const std::string& name,
                const std::vector<std::string>& builder_options) {
  const int output[] = {1, 2};
  const auto answer = ask_owner(sources, Hello::Kind::image_build, std::chrono::minutes(65), output, name,
                                builder_options.empty() ? "" : Json(builder_options).dump());
  if (!answer) return complain(answer.error());
  return 0;
}

int image_ls(const Sources&) {
  const auto found = images();
  if (found.empty()) std::printf("no images; `sallyport image build` makes one\n");
  for (const auto& image : found) std::printf("%s  %s\n", image.name.c_str(), image.vmx.c_str());
  return 0;
}

int image_rm(const Sources& sources, const std::string& name) {
  const auto answer = ask_owner(sources, Hello::Kind::image_remove, std::chrono::minutes(2), {}, name);
  if (!answer) return complain(answer.error());
  std::printf("%s is gone\n", name.c_str());
  return 0;
}

}  // namespace gateway::cli
