#include "enforcers/vmrun_allowlist.h"

#include <algorithm>
#include <exception>
#include <variant>

namespace enforcers {
namespace {

using policy::Vmrun;
using policy::VmrunVerb;

bool is_token(std::string_view word) {
  return word.size() == 32 && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// One to three plain names below `folder`: letters, digits, `_`, `-` and inner dots.
bool is_below(std::string_view path, std::string_view folder) {
  if (folder.empty() || !path.starts_with(folder)) return false;
  path.remove_prefix(folder.size());
  for (int depth = 0; depth < 3 && path.starts_with('/'); ++depth) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name.size() > 128 || name.front() == '-') return false;
    if (name.find_first_not_of('.') == std::string_view::npos) return false;
    for (const char c : name) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '_' || c == '-' || c == '.';
      if (!plain) return false;
    }
    path.remove_prefix(name.size());
    if (path.empty()) return true;
  }
  return false;
}

// A prefix and a plain rest: letters, digits, `_`, `-` and inner dots.
bool is_named(std::string_view path, const std::vector<std::string>& prefixes) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  for (const auto& prefix : prefixes) {
    if (prefix.empty() || !path.starts_with(prefix)) continue;
    const auto rest = path.substr(prefix.size());
    if (!rest.empty() && rest.size() <= 128 && rest.find_first_not_of(plain) == std::string_view::npos &&
        rest.find_first_not_of('.') != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

bool are(std::span<const std::string> words, std::initializer_list<std::string_view> wanted) {
  return std::equal(words.begin(), words.end(), wanted.begin(), wanted.end());
}

}  // namespace

std::string VmrunAllowlist::clone_vmx(const policy::SandboxId& id) const {
  return shapes_.clones + "/" + id.text() + "/" + id.text() + ".vmx";
}

bool VmrunAllowlist::fits_program(std::span<const std::string> words) const {
  for (const auto& program : shapes_.fixed_programs) {
    if (!program.empty() && std::equal(words.begin(), words.end(), program.begin(), program.end()))
      return true;
  }
  const auto& launcher = shapes_.launcher;
  if (launcher.empty() || words.size() <= launcher.size() ||
      !std::equal(launcher.begin(), launcher.end(), words.begin())) {
    return false;
  }
  const auto rest = words.subspan(launcher.size());
  if (!is_token(rest[0])) return false;
  if (rest.size() == 1) return true;
  return rest.size() == 2 && std::find(shapes_.launcher_verbs.begin(), shapes_.launcher_verbs.end(),
                                       rest[1]) != shapes_.launcher_verbs.end();
}

bool VmrunAllowlist::is_base(const std::string& vmx) const {
  if (!vmx.empty() && vmx == shapes_.base_vmx) return true;
  const std::string head = shapes_.images + "/";
  if (shapes_.images.empty() || !vmx.starts_with(head)) return false;
  const std::string name = vmx.substr(head.size(), vmx.find('/', head.size()) - head.size());
  return policy::is_image_name(name) && vmx == head + name + "/" + name + ".vmx";
}

bool VmrunAllowlist::fits(const Vmrun& command) const {
  const std::span<const std::string> words = command.arguments;
  const bool on_base = is_base(command.vmx);
  const bool on_clone = command.sandbox && command.vmx == clone_vmx(*command.sandbox);
  switch (command.verb) {
    case VmrunVerb::list:
      return command.vmx.empty() && words.empty();
    case VmrunVerb::list_snapshots:
      return (on_base || on_clone) && words.empty();
    case VmrunVerb::clone: {
      if (!on_base || !command.sandbox) return false;
      const std::string name = "-cloneName=" + command.sandbox->text();
      const bool configured = command.vmx == shapes_.base_vmx;
      const std::string snapshot = "-snapshot=" + (configured ? shapes_.snapshot : shapes_.image_snapshot);
      const std::string to = clone_vmx(*command.sandbox);
      return are(words, {to, "linked", snapshot}) || are(words, {to, "linked", snapshot, name});
    }
    case VmrunVerb::start:
      return on_clone && are(words, {"nogui"});
    case VmrunVerb::stop:
      return on_clone && (are(words, {"hard"}) || are(words, {"soft"}));
    case VmrunVerb::delete_vm:
    case VmrunVerb::check_tools_state:
      return on_clone && words.empty();
    case VmrunVerb::run_program:
      return on_clone && fits_program(words);
    case VmrunVerb::file_exists:
    case VmrunVerb::delete_file:
      return on_clone && words.size() == 1 && is_named(words[0], shapes_.guest_prefixes);
    case VmrunVerb::copy_to_guest:
      return on_clone && words.size() == 2 && is_below(words[0], shapes_.host_files) &&
             is_named(words[1], shapes_.guest_prefixes);
    case VmrunVerb::copy_from_guest:
      return on_clone && words.size() == 2 && is_named(words[0], shapes_.guest_prefixes) &&
             is_below(words[1], shapes_.host_files);
    case VmrunVerb::capture_screen:
      return on_clone && words.size() == 1 && is_below(words[0], shapes_.host_files);
  }
  return false;
}

std::optional<policy::Objection> VmrunAllowlist::check(const policy::Request& request,
                                                       std::span<const policy::Limit>,
                                                       policy::Proofs&) noexcept {
  try {
    const auto* command = std::get_if<Vmrun>(&request.what);
    if (command == nullptr || fits(*command)) return std::nullopt;
    return policy::Objection{.code = "vmrun.shape",
                             .reason = "the vmrun command `" + std::string(spelling(command->verb)) +
                                       "` is not one that the gateway gives in this form",
                             .hint = "this is a fault of the gateway; report it with the log's record"};
  } catch (const std::exception&) {
    return policy::Objection{
        .code = "vmrun.shape", .reason = "the vmrun command could not be checked", .hint = "try again"};
  }
}

}  // namespace enforcers
