#include "policy/builtin.h"

#include <array>
#include <string>
#include <utility>

#include "policy/address_class.h"

namespace policy {
namespace {

Judgement speak(Effect effect, std::string id, std::string code) {
  Judgement judgement;
  judgement.effect = effect;
  judgement.code = std::move(code);
  judgement.rule = RuleRef{std::move(id), "builtin", ""};
  judgement.matched.push_back(judgement.rule);
  return judgement;
}

// Only takes away, or only looks which machines run.
bool winds_down(VmrunVerb verb) {
  switch (verb) {
    case VmrunVerb::list:
    case VmrunVerb::stop:
    case VmrunVerb::delete_vm:
      return true;
    case VmrunVerb::start:
    case VmrunVerb::list_snapshots:
    case VmrunVerb::clone:
    case VmrunVerb::check_tools_state:
    case VmrunVerb::run_program:
    case VmrunVerb::file_exists:
    case VmrunVerb::copy_to_guest:
    case VmrunVerb::copy_from_guest:
    case VmrunVerb::delete_file:
    case VmrunVerb::capture_screen:
      return false;
  }
  return false;
}

struct Needs {
  std::string_view action;
  std::span<const VmrunVerb> verbs;
};

constexpr std::array kCreate{
    VmrunVerb::list,          VmrunVerb::list_snapshots, VmrunVerb::clone,
    VmrunVerb::start,         VmrunVerb::stop,           VmrunVerb::check_tools_state,
    VmrunVerb::copy_to_guest, VmrunVerb::run_program,    VmrunVerb::delete_vm,
};
constexpr std::array kCommand{VmrunVerb::run_program, VmrunVerb::copy_to_guest, VmrunVerb::file_exists,
                              VmrunVerb::copy_from_guest};
constexpr std::array kCopyIn{VmrunVerb::copy_to_guest, VmrunVerb::run_program};
constexpr std::array kCopyOut{VmrunVerb::copy_from_guest, VmrunVerb::run_program};
constexpr std::array kScreenshot{VmrunVerb::capture_screen};
constexpr std::array kDestroy{VmrunVerb::list, VmrunVerb::stop, VmrunVerb::delete_vm};

constexpr std::array<Needs, 8> kNeeds{{
    {Create::kName, kCreate},
    {Run::kName, kCommand},
    {Start::kName, kCommand},
    {Stop::kName, kCommand},
    {CopyIn::kName, kCopyIn},
    {FetchOut::kName, kCopyOut},
    {Screenshot::kName, kScreenshot},
    {Destroy::kName, kDestroy},
}};

}  // namespace

std::optional<Judgement> builtin_grant(const Request& request) {
  const bool system = request.who.transport == Transport::system;
  if (system && std::holds_alternative<Destroy>(request.what)) {
    return speak(Effect::allow, "builtin:own-cleanup", "allow");
  }
  if (const auto* vmrun = std::get_if<Vmrun>(&request.what)) {
    const bool aimed = vmrun->verb == VmrunVerb::list || vmrun->sandbox.has_value();
    if (system && aimed && winds_down(vmrun->verb)) {
      return speak(Effect::allow, "builtin:own-cleanup", "allow");
    }
  }
  // Whether this person's answer counts is found out by whoever keeps the questions.
  if (const auto* approve = std::get_if<Approve>(&request.what)) {
    const bool by_command = request.who.transport == Transport::cli;
    if (!system && by_command == (approve->channel == Approve::Channel::command)) {
      return speak(Effect::allow, by_command ? "builtin:people-answer" : "builtin:client-answers", "allow");
    }
  }
  if (std::holds_alternative<KillSwitch>(request.what) &&
      (system || request.who.transport == Transport::cli)) {
    return speak(Effect::allow, "builtin:kill-switch", "allow");
  }
  return std::nullopt;
}

Judgement builtin_vmrun(const Vmrun& vmrun) {
  const bool reads_base = vmrun.verb == VmrunVerb::list || vmrun.verb == VmrunVerb::list_snapshots;
  if (vmrun.sandbox || reads_base) return speak(Effect::allow, "builtin:vmrun", "allow");
  auto refused = speak(Effect::deny, "builtin:base-is-read-only", "deny.rule");
  refused.reason =
      "the base machine is only listed and cloned, never `" + std::string(spelling(vmrun.verb)) + "`";
  return refused;
}

std::vector<VmrunVerb> vmrun_verbs() {
  std::vector<VmrunVerb> verbs;
  for (int i = 0; i <= static_cast<int>(VmrunVerb::capture_screen); ++i)
    verbs.push_back(static_cast<VmrunVerb>(i));
  return verbs;
}

std::vector<std::string_view> vmrun_verb_names() {
  std::vector<std::string_view> names;
  for (const auto verb : vmrun_verbs()) names.push_back(spelling(verb));
  return names;
}

std::span<const VmrunVerb> vmrun_needed_by(std::string_view action) {
  for (const auto& needs : kNeeds) {
    if (needs.action == action) return needs.verbs;
  }
  return {};
}

namespace {

Judgement refused_address(std::string_view what, const AddressClass& address) {
  auto judgement = speak(Effect::deny, "builtin:web-address", "web." + std::string(address.code));
  judgement.reason = "`" + std::string(what) + "` is no public address (" + std::string(address.code) + ")";
  judgement.hint = "only hosts of the internet can be reached";
  return judgement;
}

}  // namespace

Judgement refused_target(const Error& why) {
  auto judgement = speak(Effect::deny, "builtin:web-target", "web." + why.code);
  judgement.reason = why.message;
  judgement.hint = "write the address of the page in full, in its usual form";
  return judgement;
}

std::optional<Judgement> builtin_web(const Request& request) {
  const auto* fetch = std::get_if<Fetch>(&request.what);
  const auto* tunnel = std::get_if<Tunnel>(&request.what);
  if (fetch == nullptr && tunnel == nullptr) return std::nullopt;
  const auto& host = fetch != nullptr ? fetch->target.host : tunnel->host;
  if (const auto name = refused_name_class(host)) {
    auto judgement = speak(Effect::deny, "builtin:web-name", "web." + std::string(*name));
    judgement.reason = "`" + host.text() + "` is no name of the internet (" + std::string(*name) + ")";
    return judgement;
  }
  if (const auto* literal = host.address()) {
    if (const auto refused = refused_class(*literal)) return refused_address(host.text(), *refused);
  }
  for (const auto& address : fetch != nullptr ? fetch->addresses : tunnel->addresses) {
    if (const auto refused = refused_class(address)) return refused_address(address.text(), *refused);
  }
  return std::nullopt;
}

}  // namespace policy
