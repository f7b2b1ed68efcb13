#include "vmware/vmrun_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace vmware {
namespace {

using policy::VmrunVerb;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kGuestMargin{15};

bool needs_login(VmrunVerb verb) {
  switch (verb) {
    case VmrunVerb::run_program:
    case VmrunVerb::file_exists:
    case VmrunVerb::copy_to_guest:
    case VmrunVerb::copy_from_guest:
    case VmrunVerb::delete_file:
    case VmrunVerb::capture_screen:
      return true;
    case VmrunVerb::list:
    case VmrunVerb::start:
    case VmrunVerb::stop:
    case VmrunVerb::list_snapshots:
    case VmrunVerb::clone:
    case VmrunVerb::delete_vm:
    case VmrunVerb::check_tools_state:
      return false;
  }
  return false;
}

VmrunCommand command(VmrunVerb verb, const std::string& vmx, std::vector<std::string> arguments,
                     std::optional<policy::SandboxId> sandbox, milliseconds deadline) {
  VmrunCommand result;
  result.what.verb = verb;
  result.what.vmx = vmx;
  result.what.arguments = std::move(arguments);
  result.what.sandbox = std::move(sandbox);
  result.terms.deadline = deadline;
  return result;
}

bool plain_word(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '.' || c == '_' || c == '-';
  });
}

VmrunCommand in_guest(VmrunVerb verb, const GuestAt& at, std::vector<std::string> words,
                      milliseconds deadline) {
  auto made = command(verb, at.vmx, std::move(words), at.id, deadline);
  made.terms.login = at.login;
  return made;
}

}  // namespace

VmrunCommand list_command() { return command(VmrunVerb::list, {}, {}, std::nullopt, seconds(15)); }

VmrunCommand list_snapshots_command(const std::string& base_vmx) {
  return command(VmrunVerb::list_snapshots, base_vmx, {}, std::nullopt, seconds(15));
}

VmrunCommand clone_command(const std::string& base_vmx, const std::string& vmx, const std::string& snapshot,
                           const policy::SandboxId& id) {
  return command(VmrunVerb::clone, base_vmx,
                 {vmx, "linked", "-snapshot=" + snapshot, "-cloneName=" + id.text()}, id, seconds(120));
}

VmrunCommand start_command(const std::string& vmx, const policy::SandboxId& id) {
  return command(VmrunVerb::start, vmx, {"nogui"}, id, seconds(180));
}

VmrunCommand stop_command(const std::string& vmx, const policy::SandboxId& id, StopHow how) {
  const bool soft = how == StopHow::soft;
  return command(VmrunVerb::stop, vmx, {soft ? "soft" : "hard"}, id, soft ? seconds(20) : seconds(60));
}

VmrunCommand delete_command(const std::string& vmx, const policy::SandboxId& id) {
  return command(VmrunVerb::delete_vm, vmx, {}, id, seconds(60));
}

VmrunCommand tools_command(const std::string& vmx, const policy::SandboxId& id) {
  return command(VmrunVerb::check_tools_state, vmx, {}, id, seconds(15));
}

VmrunCommand run_command(const GuestAt& at, std::vector<std::string> words, milliseconds time,
                         VmrunTerms::Lane lane) {
  if (words.empty() || !std::all_of(words.begin(), words.end(), plain_word)) {
    std::fputs("a word for the guest's shell holds characters that mean something there\n", stderr);
    std::abort();
  }
  auto result = in_guest(VmrunVerb::run_program, at, std::move(words), time + kGuestMargin);
  result.terms.lane = lane;
  return result;
}

VmrunCommand copy_in_command(const GuestAt& at, const std::string& host_path, const std::string& guest_path,
                             milliseconds time) {
  return in_guest(VmrunVerb::copy_to_guest, at, {host_path, guest_path}, time + kGuestMargin);
}

VmrunCommand copy_out_command(const GuestAt& at, const std::string& guest_path, const std::string& host_path,
                              std::uint64_t max_bytes, milliseconds time) {
  auto result = in_guest(VmrunVerb::copy_from_guest, at, {guest_path, host_path}, time + kGuestMargin);
  result.terms.growth = ProcessSpec::Growth{host_path, max_bytes};
  return result;
}

VmrunCommand capture_command(const GuestAt& at, const std::string& host_path, std::uint64_t max_bytes) {
  auto result = in_guest(VmrunVerb::capture_screen, at, {host_path}, seconds(30));
  result.terms.growth = ProcessSpec::Growth{host_path, max_bytes};
  return result;
}

std::vector<std::string> vmrun_arguments(const policy::Vmrun& what, const GuestLogin& login) {
  std::vector<std::string> words{"-T", "ws"};
  if (needs_login(what.verb)) {
    words.insert(words.end(), {"-gu", login.user, "-gp", login.password});
  }
  words.emplace_back(policy::spelling(what.verb));
  if (!what.vmx.empty()) words.push_back(what.vmx);
  words.insert(words.end(), what.arguments.begin(), what.arguments.end());
  return words;
}

std::string redacted(std::string text, const GuestLogin& login) {
  const auto& secret = login.password;
  if (secret.empty()) return text;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3)) {
    text.replace(at, secret.size(), "***");
  }
  return text;
}

}  // namespace vmware
