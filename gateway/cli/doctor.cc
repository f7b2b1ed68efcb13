#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/doctor/examine.h"
#include "gateway/doctor/journey.h"
#include "gateway/owner/deployment.h"
#include "gateway/owner/spawn.h"
#include "gateway/setup/setup.h"

namespace gateway::cli {
namespace {

using doctor::Health;
using Json = nlohmann::json;

class CommandDoor final : public doctor::Door {
 public:
  explicit CommandDoor(Client client) : client_(std::move(client)) {}
  policy::Result<Json> call(std::string_view tool, const Json& arguments,
                            std::chrono::milliseconds within) override {
    return client_.call(tool, arguments, within);
  }

 private:
  Client client_;
};

enum class Whose { own, service, nobody };

Whose deployment(const Settings& settings, doctor::Report& report) {
  const auto service = find_service(settings, kServiceSocket, std::chrono::seconds(2));
  if (!service) {
    report.add({"deployment", Health::bad, service.error().message, "do as said"});
    return Whose::nobody;
  }
  if (*service) {
    report.add({"deployment", Health::good, "service: its administrator's settings and policy hold"});
    return Whose::service;
  }
  report.add(
      {"deployment", Health::good, "personal: whoever runs programs as this user can change policy and log"});
  return Whose::own;
}

}  // namespace

int doctor(const Sources& sources, DoctorForm form, DoctorDepth depth) {
  doctor::Report report;
  const auto settings = load_settings(sources);
  const auto whose = deployment(settings, report);
  if (whose == Whose::own) doctor::examine(settings, doctor::this_host(), report);
  if (whose != Whose::nobody) {
    const auto status = ask_owner(sources, Hello::Kind::status, std::chrono::seconds(20));
    doctor::examine_owner(status, report);
    if (whose == Whose::own || own_user() == 0) {
      auto of_service = sources;
      if (whose == Whose::service) of_service.flags.insert_or_assign("deployment", "service");
      doctor::examine_log(load_settings(of_service).audit(), report);
    } else {
      report.add({"log", Health::skipped, "the service's log is its administrator's to read",
                  "root runs `sallyport audit verify --deployment service`"});
    }
    if (depth == DoctorDepth::quick) {
      report.add({"sandbox", Health::skipped, "--quick: no sandbox was made"});
    } else if (!report.healthy()) {
      report.add({"sandbox", Health::skipped, "not tried before the problems above are mended"});
    } else if (auto client = Client::open(sources); !client) {
      report.add({"sandbox", Health::bad, client.error().message, "do as said"});
    } else {
      CommandDoor door(std::move(*client));
      doctor::journey(door, status->value("transfer_dir", std::string()), report);
    }
  }
  const auto text = form == DoctorForm::json ? doctor::to_json(report) + "\n" : doctor::to_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return report.healthy() ? 0 : 1;
}

}  // namespace gateway::cli
