#include "policy/decision.h"

namespace policy {
namespace {

// What reads and what a refusal or an outcome can tell afterwards is `ordered`; what changes a machine, a
// host file or the gateway itself is `durable`.
struct Class {
  Durability operator()(const Create&) const { return Durability::durable; }
  Durability operator()(const List&) const { return Durability::ordered; }
  Durability operator()(const Run&) const { return Durability::durable; }
  Durability operator()(const Start&) const { return Durability::durable; }
  Durability operator()(const Check&) const { return Durability::ordered; }
  Durability operator()(const Stop&) const { return Durability::durable; }
  Durability operator()(const CopyIn&) const { return Durability::durable; }
  Durability operator()(const FetchOut&) const { return Durability::ordered; }
  Durability operator()(const PublishOut&) const { return Durability::durable; }
  Durability operator()(const Screenshot&) const { return Durability::ordered; }
  Durability operator()(const Click&) const { return Durability::ordered; }
  Durability operator()(const TypeText&) const { return Durability::ordered; }
  Durability operator()(const PressKey&) const { return Durability::ordered; }
  Durability operator()(const Fetch&) const { return Durability::ordered; }
  Durability operator()(const Tunnel&) const { return Durability::ordered; }
  Durability operator()(const Extend&) const { return Durability::durable; }
  Durability operator()(const Destroy&) const { return Durability::durable; }
  Durability operator()(const KillSwitch&) const { return Durability::durable; }
  Durability operator()(const Approve&) const { return Durability::durable; }
  Durability operator()(const BuildImage&) const { return Durability::durable; }
  Durability operator()(const RemoveImage&) const { return Durability::durable; }
  Durability operator()(const Vmrun& vmrun) const {
    switch (vmrun.verb) {
      case VmrunVerb::start:
      case VmrunVerb::stop:
      case VmrunVerb::clone:
      case VmrunVerb::delete_vm:
      case VmrunVerb::run_program:
      case VmrunVerb::copy_to_guest:
      case VmrunVerb::delete_file:
        return Durability::durable;
      case VmrunVerb::list:
      case VmrunVerb::list_snapshots:
      case VmrunVerb::check_tools_state:
      case VmrunVerb::file_exists:
      case VmrunVerb::copy_from_guest:
      case VmrunVerb::capture_screen:
        return Durability::ordered;
    }
    return Durability::durable;
  }
};

}  // namespace

std::string_view spelling(Effect effect) {
  switch (effect) {
    case Effect::allow:
      return "allow";
    case Effect::ask:
      return "ask";
    case Effect::deny:
      return "deny";
  }
  return {};
}

Durability durability_of(const Action& action) { return std::visit(Class{}, action); }

}  // namespace policy
