#include <cstdio>

#include <nlohmann/json.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/cli/printable.h"

namespace gateway::cli {
namespace {

using Json = nlohmann::json;
constexpr std::chrono::minutes kLong{70};
constexpr std::chrono::seconds kShort{60};

// Calls one tool; on success hands its structured result on.
template <class Then>
int with_result(const Sources& sources, std::string_view tool, const Json& arguments,
                std::chrono::milliseconds within, Then then) {
  auto client = Client::open(sources);
  if (!client) return complain(client.error());
  const auto result = client->call(tool, arguments, within);
  if (!result) return complain(result.error());
  if (failed(*result)) return complain(*result);
  return then(*client, result->value("structuredContent", Json::object()));
}

// Prints what a command wrote, from its first byte on, as far as it is kept.
class Stream final {
 public:
  Stream(std::string name, std::FILE* to) : name_(std::move(name)), to_(to) {}
  std::int64_t at() const { return at_; }
  // Whether there is more to ask for. The answer to a run is the newest part of the stream.
  bool take(const Json& result, bool newest) {
    const auto number = [&](const char* what) { return result.value(name_ + what, std::int64_t{0}); };
    const auto offset = number("_offset");
    if (newest && offset > at_) return true;
    if (offset > at_) {
      std::fprintf(stderr, "sallyport: %lld bytes of %s are no longer kept\n",
                   static_cast<long long>(offset - at_), name_.c_str());
    }
    const auto text = printable(result.value(name_, ""));
    std::fputs(text.c_str(), to_);
    std::fflush(to_);
    at_ = number("_next_offset");
    return at_ < number("_total");
  }

 private:
  std::string name_;
  std::FILE* to_;
  std::int64_t at_ = 0;
};

}  // namespace

int sandbox_ls(const Sources& sources, bool json) {
  return with_result(sources, "sandbox_list", Json::object(), kShort, [json](Client&, const Json& result) {
    if (json) {
      std::printf("%s\n", result.dump().c_str());
      return 0;
    }
    const auto sandboxes = result.value("sandboxes", Json::array());
    if (sandboxes.empty()) std::printf("no sandboxes\n");
    for (const auto& one : sandboxes) {
      std::printf("%s  %-5s %-10s %6lld s old, until %s\n", one.value("sandbox_id", "").c_str(),
                  one.value("network", "").c_str(), one.value("status", "").c_str(),
                  static_cast<long long>(one.value("age_seconds", std::int64_t{0})),
                  one.value("expires_at", "").c_str());
    }
    return 0;
  });
}

int sandbox_create(const Sources& sources, const std::string& network, const MachineSize& size) {
  Json arguments{{"network", network}};
  if (size.image) arguments["image"] = *size.image;
  if (size.cpus) arguments["cpus"] = *size.cpus;
  if (size.memory_mb) arguments["memory_mb"] = *size.memory_mb;
  if (size.disk_gb) arguments["disk_gb"] = *size.disk_gb;
  return with_result(sources, "sandbox_create", arguments, kLong, [](Client&, const Json& result) {
    std::printf("%s\n", result.value("sandbox_id", "").c_str());
    return 0;
  });
}

int sandbox_run(const Sources& sources, const std::string& sandbox, const std::string& command,
                std::int64_t timeout_seconds) {
  Json arguments{{"sandbox_id", sandbox}, {"command", command}};
  if (timeout_seconds > 0) arguments["timeout_seconds"] = timeout_seconds;
  return with_result(sources, "sandbox_run", arguments, kLong, [&](Client& client, Json result) {
    Stream out("stdout", stdout), err("stderr", stderr);
    const auto job = result.value("job_id", "");
    for (bool newest = true;; newest = false) {
      const auto before = out.at() + err.at();
      const bool out_more = out.take(result, newest), err_more = err.take(result, newest);
      const bool got_on = newest || out.at() + err.at() > before;
      if (result.value("status", "") != "running" && !(got_on && (out_more || err_more))) break;
      const Json asked{
          {"sandbox_id", sandbox}, {"job_id", job}, {"stdout_offset", out.at()}, {"stderr_offset", err.at()}};
      auto next = client.call("sandbox_check", asked, kShort);
      if (!next) return complain(next.error());
      if (failed(*next)) return complain(*next);
      result = (*next)["structuredContent"];
    }
    if (result.value("status", "") == "timed_out") {
      std::fprintf(stderr, "sallyport: the command was stopped at its timeout\n");
      return 1;
    }
    return static_cast<int>(result.value("exit_code", std::int64_t{1})) & 0xFF;
  });
}

int sandbox_cp(const Sources& sources, const std::string& from, const std::string& to) {
  const auto guest_part = [](const std::string& place) {
    return place.starts_with("sbx-") ? place.find(':') : std::string::npos;
  };
  const auto from_guest = guest_part(from), to_guest = guest_part(to);
  if ((from_guest == std::string::npos) == (to_guest == std::string::npos)) {
    std::fprintf(stderr,
                 "sallyport: one of the two must be `<sandbox id>:<absolute path>`, the other a path in the "
                 "transfer folder\n");
    return 2;
  }
  if (to_guest != std::string::npos) {
    const Json arguments{
        {"sandbox_id", to.substr(0, to_guest)}, {"host_path", from}, {"guest_path", to.substr(to_guest + 1)}};
    return with_result(sources, "sandbox_copy_in", arguments, kLong, [](Client&, const Json& result) {
      std::printf("%lld files, %lld bytes\n", static_cast<long long>(result.value("files", std::int64_t{0})),
                  static_cast<long long>(result.value("bytes", std::int64_t{0})));
      return 0;
    });
  }
  const Json arguments{{"sandbox_id", from.substr(0, from_guest)},
                       {"guest_path", from.substr(from_guest + 1)},
                       {"host_path", to}};
  return with_result(sources, "sandbox_copy_out", arguments, kLong, [](Client&, const Json& result) {
    std::printf("%s: %lld files, %lld bytes\n", printable(result.value("saved_to", "")).c_str(),
                static_cast<long long>(result.value("files", std::int64_t{0})),
                static_cast<long long>(result.value("bytes", std::int64_t{0})));
    return 0;
  });
}

int sandbox_rm(const Sources& sources, const std::vector<std::string>& sandboxes) {
  int worst = 0;
  for (const auto& sandbox : sandboxes) {
    const int one =
        with_result(sources, "sandbox_destroy", {{"sandbox_id", sandbox}}, kLong, [&](Client&, const Json&) {
          std::printf("%s is gone\n", sandbox.c_str());
          return 0;
        });
    if (one != 0) worst = one;
  }
  return worst;
}

int sandbox_extend(const Sources& sources, const std::string& sandbox, std::int64_t minutes) {
  return with_result(sources, "sandbox_extend", {{"sandbox_id", sandbox}, {"minutes", minutes}}, kShort,
                     [](Client&, const Json& result) {
                       std::printf("expires at %s\n", result.value("expires_at", "").c_str());
                       return 0;
                     });
}

}  // namespace gateway::cli
