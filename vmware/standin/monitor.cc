#include "vmware/standin/monitor.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace standin {
namespace {

using nlohmann::json;
using policy::fail;

constexpr int kMaxEvents = 1000;
constexpr std::int64_t kDiskSpeed = std::int64_t{64} << 30;  // bytes a second
constexpr int kHoldMs = 20;

json parse(const std::string& text) { return json::parse(text, nullptr, false); }

}  // namespace

Result<Monitor> Monitor::connect(const std::string& runtime_folder, Deadline deadline) {
  auto lock = lock_path(runtime_folder + "/qmp.lock", deadline);
  if (!lock) return tl::unexpected(lock.error());
  auto channel = JsonChannel::open(runtime_folder + "/q/qmp.sock", deadline);
  if (!channel) return tl::unexpected(channel.error());
  Monitor monitor(std::move(*lock), std::move(*channel));
  if (auto greeting = monitor.channel_.receive(deadline); !greeting) return tl::unexpected(greeting.error());
  if (auto ready = monitor.call(R"({"execute":"qmp_capabilities"})", deadline); !ready) {
    return tl::unexpected(ready.error());
  }
  return monitor;
}

Result<std::string> Monitor::reply(Deadline deadline) {
  for (int i = 0; i < kMaxEvents; ++i) {
    const auto line = channel_.receive(deadline);
    if (!line) return tl::unexpected(line.error());
    const json answer = parse(*line);
    if (!answer.is_object()) return fail("channel", "not a QMP reply");
    if (answer.contains("return"))
      return answer["return"].dump(-1, ' ', false, json::error_handler_t::replace);
    if (answer.contains("error")) return fail("monitor", "QEMU refused the command");
  }
  return fail("channel", "no reply among the events");
}

Result<std::string> Monitor::call(const std::string& command, Deadline deadline) {
  if (auto sent = channel_.send(command + "\n", deadline); !sent) return tl::unexpected(sent.error());
  return reply(deadline);
}

Result<> Monitor::order(const std::string& command, Deadline deadline) {
  if (auto reply = call(command, deadline); !reply) return tl::unexpected(reply.error());
  return {};
}

// QEMU knows the descriptor by name until it is used.
Result<> Monitor::pass(const Fd& file, Deadline deadline) {
  constexpr std::string_view kCommand = "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}\n";
  if (auto sent = channel_.send_with(kCommand, file, deadline); !sent) return sent;
  if (auto taken = reply(deadline); !taken) return tl::unexpected(taken.error());
  return {};
}

Result<std::string> Monitor::status(Deadline deadline) {
  auto reply = call(R"({"execute":"query-status"})", deadline);
  if (!reply) return reply;
  const json status = parse(*reply);
  if (!status.is_object() || !status.contains("status") || !status["status"].is_string()) {
    return fail("channel", "not a status");
  }
  return status["status"].get<std::string>();
}

Result<bool> Monitor::agent_port_open(Deadline deadline) {
  const auto reply = call(R"({"execute":"query-chardev"})", deadline);
  if (!reply) return tl::unexpected(reply.error());
  const json devices = parse(*reply);
  if (!devices.is_array()) return fail("channel", "not a list of devices");
  for (const json& device : devices) {
    if (device.is_object() && device.value("label", json()) == json("qga")) {
      return device.value("frontend-open", json()) == json(true);
    }
  }
  return false;
}

Result<> Monitor::quit(Deadline deadline) { return order(R"({"execute":"quit"})", deadline); }

Result<> Monitor::press_power_button(Deadline deadline) {
  return order(R"({"execute":"system_powerdown"})", deadline);
}

Result<> Monitor::pause(Deadline deadline) { return order(R"({"execute":"stop"})", deadline); }

Result<> Monitor::resume(Deadline deadline) { return order(R"({"execute":"cont"})", deadline); }

Result<> Monitor::reset(Deadline deadline) { return order(R"({"execute":"system_reset"})", deadline); }

Result<> Monitor::save_to(const Fd& file, Deadline deadline) {
  // By default QEMU spares a network that is not there.
  const json speed{{"execute", "migrate-set-parameters"}, {"arguments", {{"max-bandwidth", kDiskSpeed}}}};
  if (auto set = order(speed.dump(), deadline); !set) return set;
  if (auto passed = pass(file, deadline); !passed) return passed;
  return order(R"({"execute":"migrate","arguments":{"uri":"fd:state"}})", deadline);
}

Result<> Monitor::load_from(const Fd& file, Deadline deadline) {
  if (auto passed = pass(file, deadline); !passed) return passed;
  return order(R"({"execute":"migrate-incoming","arguments":{"uri":"fd:state"}})", deadline);
}

Result<std::string> Monitor::migration(Deadline deadline) {
  const auto reply = call(R"({"execute":"query-migrate"})", deadline);
  if (!reply) return reply;
  const json state = parse(*reply);
  if (!state.is_object()) return fail("channel", "not the state of a migration");
  if (!state.contains("status")) return std::string("none");
  if (!state["status"].is_string()) return fail("channel", "not the state of a migration");
  return state["status"].get<std::string>();
}

Result<> Monitor::cancel_migration(Deadline deadline) {
  return order(R"({"execute":"migrate_cancel"})", deadline);
}

Result<> Monitor::press_keys(const std::vector<std::string>& keys, Deadline deadline) {
  json names = json::array();
  for (const std::string& key : keys) names.push_back({{"type", "qcode"}, {"data", key}});
  const json command{{"execute", "send-key"}, {"arguments", {{"keys", names}, {"hold-time", kHoldMs}}}};
  return order(command.dump(), deadline);
}

Result<> Monitor::screenshot(const Fd& file, Deadline deadline) {
  // A set of descriptors of our own number, which names the file for QEMU.
  constexpr int kSet = 9000;
  const json give{{"execute", "add-fd"}, {"arguments", {{"fdset-id", kSet}}}};
  if (auto sent = channel_.send_with(give.dump() + "\n", file, deadline); !sent) return sent;
  if (auto given = reply(deadline); !given) return tl::unexpected(given.error());
  const json shoot{{"execute", "screendump"},
                   {"arguments", {{"filename", "/dev/fdset/" + std::to_string(kSet)}, {"format", "png"}}}};
  const auto taken = call(shoot.dump(), deadline);
  const json drop{{"execute", "remove-fd"}, {"arguments", {{"fdset-id", kSet}}}};
  if (auto dropped = order(drop.dump(), deadline); !dropped) return dropped;
  if (!taken) return tl::unexpected(taken.error());
  return {};
}

}  // namespace standin
