#include "vmware/standin/monitor.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace standin {
namespace {

using nlohmann::json;
using policy::fail;

constexpr int kMaxEvents = 1000;

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

Result<std::string> Monitor::call(const std::string& command, Deadline deadline) {
  if (auto sent = channel_.send(command + "\n", deadline); !sent) return tl::unexpected(sent.error());
  return reply(deadline);
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

Result<> Monitor::quit(Deadline deadline) {
  if (auto reply = call(R"({"execute":"quit"})", deadline); !reply) return tl::unexpected(reply.error());
  return {};
}

Result<> Monitor::press_power_button(Deadline deadline) {
  if (auto reply = call(R"({"execute":"system_powerdown"})", deadline); !reply)
    return tl::unexpected(reply.error());
  return {};
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
  if (auto dropped = call(drop.dump(), deadline); !dropped) return tl::unexpected(dropped.error());
  if (!taken) return tl::unexpected(taken.error());
  return {};
}

}  // namespace standin
