#include "vmware/standin/guest_agent.h"

#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "vmware/standin/base64.h"

namespace standin {
namespace {

using nlohmann::json;
using policy::fail;

constexpr int kMaxStaleLines = 64;
constexpr std::size_t kMaxInterfaces = 256;
constexpr char kSearchPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

json parse(const std::string& text) { return json::parse(text, nullptr, false); }

// The `return` of a reply line.
Result<json> result_of(const Result<std::string>& line) {
  if (!line) return tl::unexpected(line.error());
  json reply = parse(*line);
  if (!reply.is_object()) return fail("channel", "not a reply of the guest agent");
  if (reply.contains("return")) return std::move(reply["return"]);
  return fail("agent", "the guest agent refused the command");
}

Result<json> call(JsonChannel& channel, const json& command, Deadline deadline) {
  if (auto sent = channel.send(command.dump() + "\n", deadline); !sent) return tl::unexpected(sent.error());
  return result_of(channel.receive(deadline));
}

std::optional<std::int64_t> whole(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_ipv4(std::string_view text) {
  if (text.size() < 7 || text.size() > 15) return false;
  return text.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Result<GuestAgent> GuestAgent::connect(const std::string& runtime_folder, Deadline deadline) {
  auto lock = lock_path(runtime_folder + "/qga.lock", deadline);
  if (!lock) return tl::unexpected(lock.error());
  auto channel = JsonChannel::open(runtime_folder + "/q/qga.sock", deadline);
  if (!channel) return tl::unexpected(channel.error());
  GuestAgent agent(std::move(*lock), std::move(*channel));
  if (auto synchronized = agent.synchronize(deadline); !synchronized)
    return tl::unexpected(synchronized.error());
  return agent;
}

// After the 0xFF the agent drops what an earlier client left half said, and answers with 0xFF before the
// reply, so that we drop what was meant for that client.
Result<> GuestAgent::synchronize(Deadline deadline) {
  std::random_device random;
  const std::int64_t id = random() & 0x7fffffff;
  const json command{{"execute", "guest-sync-delimited"}, {"arguments", {{"id", id}}}};
  if (auto sent = channel_.send("\xff" + command.dump() + "\n", deadline); !sent) return sent;
  for (int i = 0; i < kMaxStaleLines; ++i) {
    auto line = channel_.receive(deadline);
    if (!line) return fail("tools", "the guest agent does not answer");
    const std::size_t mark = line->rfind('\xff');
    if (mark == std::string::npos) continue;
    const json reply = parse(line->substr(mark + 1));
    if (reply.is_object() && whole(reply, "return") == id) return {};
  }
  return fail("tools", "the guest agent does not synchronize");
}

Result<std::int64_t> GuestAgent::start(const std::vector<std::string>& argv, const std::string& user,
                                       std::string_view input, Deadline deadline) {
  json arguments{{"path", argv.at(0)},
                 {"arg", std::vector<std::string>(argv.begin() + 1, argv.end())},
                 {"env", {kSearchPath, "LANG=C.UTF-8", "SHELL=/bin/bash", "USER=" + user, "LOGNAME=" + user}},
                 {"capture-output", true}};
  if (!input.empty()) arguments["input-data"] = base64_encode(input);
  json command{{"execute", "guest-exec"}, {"arguments", std::move(arguments)}};
  // A word that is not UTF-8 cannot travel in JSON.
  std::string text = command.dump(-1, ' ', false, json::error_handler_t::replace);
  if (auto sent = channel_.send(text + "\n", deadline); !sent) return tl::unexpected(sent.error());
  const auto result = result_of(channel_.receive(deadline));
  if (!result) return tl::unexpected(result.error());
  const auto pid = result->is_object() ? whole(*result, "pid") : std::nullopt;
  if (!pid) return fail("channel", "no process id from the guest agent");
  return *pid;
}

Result<std::optional<GuestExit>> GuestAgent::poll(std::int64_t pid, Deadline deadline) {
  const auto status =
      call(channel_, {{"execute", "guest-exec-status"}, {"arguments", {{"pid", pid}}}}, deadline);
  if (!status) return tl::unexpected(status.error());
  if (!status->is_object()) return fail("channel", "not a process status");
  if (status->value("exited", json()) != json(true)) return std::optional<GuestExit>();
  GuestExit ended;
  const auto signal = whole(*status, "signal");
  const auto code = whole(*status, "exitcode");
  ended.code = static_cast<int>(signal ? 128 + (*signal & 127) : code.value_or(255) & 255);
  auto out = base64_decode(text_of(*status, "out-data"));
  if (!out) return fail("channel", "damaged output from the guest agent");
  ended.out = std::move(*out);
  ended.cut = status->value("out-truncated", json()) == json(true);
  return std::optional<GuestExit>(std::move(ended));
}

Result<> GuestAgent::shut_down(Deadline deadline) {
  // This command has no reply when it succeeds; an error would come at once.
  return channel_.send("{\"execute\":\"guest-shutdown\"}\n", deadline);
}

Result<> GuestAgent::reboot(Deadline deadline) {
  return channel_.send("{\"execute\":\"guest-shutdown\",\"arguments\":{\"mode\":\"reboot\"}}\n", deadline);
}

Result<std::string> GuestAgent::address(Deadline deadline) {
  const auto interfaces = call(channel_, {{"execute", "guest-network-get-interfaces"}}, deadline);
  if (!interfaces) return tl::unexpected(interfaces.error());
  if (!interfaces->is_array() || interfaces->size() > kMaxInterfaces)
    return fail("channel", "no list of interfaces");
  for (const json& interface : *interfaces) {
    if (!interface.is_object() || !interface.contains("ip-addresses")) continue;
    const json& addresses = interface["ip-addresses"];
    if (!addresses.is_array() || addresses.size() > kMaxInterfaces) continue;
    for (const json& address : addresses) {
      if (!address.is_object()) continue;
      const std::string text = text_of(address, "ip-address");
      if (is_ipv4(text) && !text.starts_with("127.") && !text.ends_with(".1")) return text;
    }
  }
  return std::string();
}

}  // namespace standin
