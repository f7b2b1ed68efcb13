#include "policy/action.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "policy/web_pattern.h"

namespace policy {
namespace {

constexpr std::array<std::pair<VmrunVerb, std::string_view>, 13> kVerbs{{
    {VmrunVerb::list, "list"},
    {VmrunVerb::start, "start"},
    {VmrunVerb::stop, "stop"},
    {VmrunVerb::list_snapshots, "listSnapshots"},
    {VmrunVerb::clone, "clone"},
    {VmrunVerb::delete_vm, "deleteVM"},
    {VmrunVerb::check_tools_state, "checkToolsState"},
    {VmrunVerb::run_program, "runProgramInGuest"},
    {VmrunVerb::file_exists, "fileExistsInGuest"},
    {VmrunVerb::copy_to_guest, "CopyFileFromHostToGuest"},
    {VmrunVerb::copy_from_guest, "CopyFileFromGuestToHost"},
    {VmrunVerb::delete_file, "deleteFileInGuest"},
    {VmrunVerb::capture_screen, "captureScreen"},
}};

// What canonical JSON can hold; a sparse file can claim more.
constexpr std::uint64_t kMaxNumber = (std::uint64_t{1} << 53) - 1;

Json number(std::uint64_t value) { return Json(std::min(value, kMaxNumber)); }

Json seconds(std::chrono::seconds value) {
  constexpr auto max = static_cast<std::int64_t>(kMaxNumber);
  return Json(std::clamp<std::int64_t>(value.count(), -max, max));
}

Json survey(const Survey& found) {
  return Json(Json::Object{{"bytes", number(found.bytes)},
                           {"files", number(found.files)},
                           {"manifest", Json(found.manifest.hex())}});
}

// What stands in the log for typed text.
Json withheld(std::string_view text, std::string_view key) {
  return Json(Json::Object{{"bytes", number(text.size())}, {"hmac", Json(hmac_sha256(key, text).hex())}});
}

// A press that puts a character on the screen is typed text like any other: one key that is no name, alone
// or with shift.
bool types_a_character(std::string_view keys) {
  const auto plus = keys.rfind('+', keys.empty() ? 0 : keys.size() - 1);
  const auto last = plus == std::string_view::npos || plus + 1 == keys.size() ? keys : keys.substr(plus + 1);
  const bool one_character = std::count_if(last.begin(), last.end(), [](char c) {
                               return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                             }) == 1;
  if (!one_character) return false;
  const auto modifiers = keys.substr(0, keys.size() - last.size());
  return modifiers.empty() || modifiers == "shift+";
}

struct Describe {
  std::string_view key;

  Json operator()(const Create& a) const {
    Json::Object described{{"network", Json(spelling(a.network))}};
    if (!a.image.empty()) described.emplace("image", Json(a.image));
    if (a.cpus != 0) described.emplace("cpus", Json(std::int64_t{a.cpus}));
    if (a.memory_mb != 0) described.emplace("memory_mb", Json(std::int64_t{a.memory_mb}));
    if (a.disk_gb != 0) described.emplace("disk_gb", Json(std::int64_t{a.disk_gb}));
    return Json(std::move(described));
  }
  Json operator()(const List&) const { return Json(Json::Object{}); }
  Json operator()(const Run& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"command", Json(a.command)},
                             {"timeout_s", seconds(a.timeout)}});
  }
  Json operator()(const Start& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())}, {"command", Json(a.command)}});
  }
  Json operator()(const Check& a) const { return job(a.sandbox, a.job); }
  Json operator()(const Stop& a) const { return job(a.sandbox, a.job); }
  Json operator()(const CopyIn& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"host_path", Json(a.host_path.text())},
                             {"guest_path", Json(a.guest_path.text())},
                             {"survey", survey(a.survey)}});
  }
  Json operator()(const FetchOut& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"host_path", Json(a.host_path.text())},
                             {"guest_path", Json(a.guest_path.text())}});
  }
  Json operator()(const PublishOut& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"host_path", Json(a.host_path.text())},
                             {"guest_path", Json(a.guest_path.text())},
                             {"survey", survey(a.survey)}});
  }
  Json operator()(const Screenshot& a) const { return only(a.sandbox); }
  Json operator()(const Click& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"x", Json(std::int64_t{a.x})},
                             {"y", Json(std::int64_t{a.y})},
                             {"button", Json(spelling(a.button))},
                             {"count", Json(std::int64_t{a.count})}});
  }
  Json operator()(const TypeText& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())}, {"text", withheld(a.text, key)}});
  }
  Json operator()(const PressKey& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"keys", types_a_character(a.keys) ? withheld(a.keys, key) : Json(a.keys)}});
  }
  Json operator()(const Fetch& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"method", Json(a.method)},
                             {"scheme", Json(spelling(a.target.scheme))},
                             {"host", Json(a.target.host.text())},
                             {"port", Json(std::int64_t{a.target.port})},
                             {"path", Json(a.target.path)}});
  }
  Json operator()(const Tunnel& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())},
                             {"host", Json(a.host.text())},
                             {"port", Json(std::int64_t{a.port})},
                             {"inspected", Json(a.sight == Tunnel::Sight::inspected)}});
  }
  Json operator()(const Extend& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())}, {"by_s", seconds(a.by)}});
  }
  Json operator()(const Destroy& a) const {
    return Json(Json::Object{{"sandbox", Json(a.sandbox.text())}, {"cause", Json(spelling(a.cause))}});
  }
  Json operator()(const KillSwitch& a) const {
    return Json(Json::Object{{"position", Json(a.position == KillSwitch::Position::on ? "on" : "off")}});
  }
  Json operator()(const Approve& a) const {
    return Json(Json::Object{{"question", Json(a.question)},
                             {"answer", Json(spelling(a.answer))},
                             {"via", Json(spelling(a.channel))}});
  }
  Json operator()(const BuildImage& a) const { return Json(Json::Object{{"name", Json(a.name)}}); }
  Json operator()(const RemoveImage& a) const { return Json(Json::Object{{"name", Json(a.name)}}); }
  Json operator()(const Vmrun& a) const {
    Json::Array words;
    words.reserve(a.arguments.size());
    for (const auto& word : a.arguments) words.emplace_back(word);
    Json::Object object{
        {"command", Json(spelling(a.verb))}, {"vmx", Json(a.vmx)}, {"arguments", Json(std::move(words))}};
    if (a.sandbox) object.emplace("sandbox", Json(a.sandbox->text()));
    return Json(std::move(object));
  }

  static Json only(const SandboxId& id) { return Json(Json::Object{{"sandbox", Json(id.text())}}); }
  static Json job(const SandboxId& id, const JobId& of) {
    return Json(Json::Object{{"sandbox", Json(id.text())}, {"job", Json(of.text())}});
  }
};

}  // namespace

// `default` is what rules call the image of a create that names none.
bool is_image_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= 60 && name != "default" && name.front() != '.' &&
         name.front() != '-' && name.front() != '_' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string_view spelling(Network network) {
  switch (network) {
    case Network::none:
      return "none";
    case Network::web:
      return "web";
    case Network::nat:
      return "nat";
  }
  return {};
}

std::string_view spelling(MouseButton button) {
  switch (button) {
    case MouseButton::left:
      return "left";
    case MouseButton::right:
      return "right";
    case MouseButton::middle:
      return "middle";
  }
  return {};
}

std::string_view spelling(Approve::Answer answer) {
  switch (answer) {
    case Approve::Answer::allow:
      return "allow";
    case Approve::Answer::deny:
      return "deny";
    case Approve::Answer::dismiss:
      return "dismiss";
  }
  return {};
}

std::string_view spelling(Approve::Channel channel) {
  return channel == Approve::Channel::client ? "client" : "command";
}

std::string_view spelling(DestroyCause cause) {
  switch (cause) {
    case DestroyCause::asked:
      return "asked";
    case DestroyCause::expired:
      return "expired";
    case DestroyCause::orphaned:
      return "orphaned";
    case DestroyCause::rolled_back:
      return "rolled_back";
    case DestroyCause::kill_switch:
      return "kill_switch";
    case DestroyCause::withdrawn:
      return "withdrawn";
    case DestroyCause::shutdown:
      return "shutdown";
  }
  return {};
}

std::string_view spelling(VmrunVerb verb) {
  for (const auto& [known, name] : kVerbs) {
    if (known == verb) return name;
  }
  return {};
}

std::optional<Network> network_from(std::string_view text) {
  for (const auto network : {Network::none, Network::web, Network::nat}) {
    if (spelling(network) == text) return network;
  }
  return std::nullopt;
}

std::optional<VmrunVerb> vmrun_verb_from(std::string_view text) {
  for (const auto& [known, name] : kVerbs) {
    if (name == text) return known;
  }
  return std::nullopt;
}

std::string_view name_of(const Action& action) {
  return std::visit([](const auto& a) { return std::decay_t<decltype(a)>::kName; }, action);
}

const SandboxId* sandbox_of(const Action& action) {
  return std::visit(
      [](const auto& a) -> const SandboxId* {
        using A = std::decay_t<decltype(a)>;
        if constexpr (std::is_same_v<A, Vmrun>) {
          return a.sandbox ? &*a.sandbox : nullptr;
        } else if constexpr (requires { a.sandbox; }) {
          return &a.sandbox;
        } else {
          return nullptr;
        }
      },
      action);
}

namespace {

// Nothing is looked up for an address.
std::vector<Address> known_addresses(const Host& host) {
  return host.address() != nullptr ? std::vector{*host.address()} : std::vector<Address>{};
}

// As it is usually written: without the port that goes without saying.
std::string url_of(const WebTarget& target) {
  const bool usual = target.port == (target.scheme == Scheme::http ? 80 : 443);
  return std::string(spelling(target.scheme)) + "://" + (usual ? target.host.text() : target.authority()) +
         (target.path == "*" ? "" : target.path);
}

}  // namespace

Fetch fetch_of(SandboxId sandbox, std::string method, WebTarget target) {
  auto url = url_of(target);
  auto labels = labels_of(target.host);
  auto addresses = known_addresses(target.host);
  return {std::move(sandbox), std::move(method), std::move(target),
          std::move(url),     std::move(labels), std::move(addresses)};
}

Tunnel tunnel_of(SandboxId sandbox, Host host, std::uint16_t port, Tunnel::Sight sight) {
  auto labels = labels_of(host);
  auto addresses = known_addresses(host);
  return {std::move(sandbox), std::move(host), port, sight, std::move(labels), std::move(addresses)};
}

Json describe(const Action& action, std::string_view text_key) {
  return std::visit(Describe{text_key}, action);
}

}  // namespace policy
