#include "gateway/owner/deployment.h"

#include "gateway/net/unix_socket.h"
#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"

namespace gateway {
namespace {

constexpr char kOwnInstead[] = ", or set SALLYPORT_DEPLOYMENT=personal for an owner of your own";

}  // namespace

Result<std::optional<Descriptor>> find_service(const Settings& settings, const std::string& socket,
                                               std::chrono::milliseconds patience) {
  if (settings.deployment == Deployment::personal) return std::nullopt;
  const bool wanted = settings.deployment == Deployment::service;
  // Whoever names a state folder has said whose owner is meant.
  if (!wanted && settings.state_named == Switch::on) return std::nullopt;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto connection = connect_unix(socket);
    if (connection) return std::optional<Descriptor>(std::move(*connection));
    if (connection.error().code == "socket.denied") {
      const auto name = account_name(own_user());
      const auto user = name.empty() ? "uid " + std::to_string(own_user()) : name;
      return policy::fail("service.denied",
                          "a Sallyport service runs on this computer and `" + user +
                              "` is not among its users; have an administrator run `adduser " + user + " " +
                              settings.service_group + "` and log in again" + kOwnInstead);
    }
    if (connection.error().code != "socket.absent") return tl::unexpected(connection.error());
    if (!is_there(socket)) {
      if (!wanted) return std::nullopt;
      return policy::fail("service.absent",
                          "no Sallyport service runs on this computer; have an administrator "
                          "run `systemctl enable --now sallyport`" +
                              std::string(kOwnInstead));
    }
    if (std::chrono::steady_clock::now() >= until) {
      return policy::fail("service.down",
                          "the Sallyport service of this computer does not answer; see "
                          "`systemctl status sallyport`" +
                              std::string(kOwnInstead));
    }
    sleep_briefly();
  }
}

}  // namespace gateway
