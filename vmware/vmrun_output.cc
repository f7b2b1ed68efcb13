#include "vmware/vmrun_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace vmware {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxItems = 1000;

struct Known {
  std::string_view sentence;  // lower case, found anywhere
  std::string_view code;
  std::string_view message;
};

// The first that matches counts, so the narrower sentence stands before the wider one.
constexpr std::array kKnown{
    Known{"is not powered on", "guest.gone",
          "the machine is switched off; destroy the sandbox and create another"},
    Known{"should not be powered on", "vm.running",
          "the machine is already running, or its snapshot was taken while it ran; the snapshot of the base "
          "must "
          "be taken with the machine switched off"},
    Known{"virtual machine is already running", "vm.running", "the machine is already running"},
    Known{"tools are not running", "guest.not_ready",
          "the guest's tools do not answer; it is still starting, or they were stopped in the guest"},
    Known{"anonymous guest operations are not allowed", "guest.login",
          "the guest login is missing; set the guest's user and password"},
    Known{"invalid user name or password", "guest.login",
          "the guest refused the login; set the user and password of the base image"},
    Known{"empty passwords", "guest.login", "the guest allows no empty password; set one in the base image"},
    Known{"must be logged in interactively", "guest.login",
          "the guest user must be logged in at the machine's screen for this"},
    Known{"insufficient permissions in guest", "guest.permission", "the guest user may not do this"},
    Known{"insufficient permissions in the guest", "guest.permission", "the guest user may not do this"},
    Known{"insufficient permissions in the host", "host.permission",
          "the user that runs vmrun may not do this; look at the permissions of the machine's folder"},
    Known{"virtual machine cannot be found", "vm.missing", "there is no machine at that path"},
    Known{"cannot read the virtual machine configuration", "vm.unreadable",
          "the machine's settings file cannot be read"},
    Known{"not a valid virtual machine", "vm.invalid", "the file is not a machine's settings file"},
    Known{"password is required", "vm.encrypted", "the machine is encrypted; use a base that is not"},
    Known{"incorrect password", "vm.encrypted", "the machine is encrypted; use a base that is not"},
    Known{"encrypted virtual machine", "vm.encrypted", "the machine is encrypted; use a base that is not"},
    Known{"snapshot does not exist", "snapshot.missing",
          "the base has no such snapshot; take it with the machine switched off, or name another"},
    Known{"invalid snapshot name", "snapshot.missing",
          "the base has no such snapshot; take it with the machine switched off, or name another"},
    Known{"snapshot with the name already exists", "snapshot.exists", "a snapshot of that name exists"},
    Known{"snapshot already exists", "snapshot.exists", "a snapshot of that name exists"},
    Known{"file was not found", "guest.no_file", "a file the command names does not exist"},
    Known{"file already exists", "guest.exists", "a file the command would make exists already"},
    Known{"already in use", "vm.locked", "the machine's files are in use by another program; close it there"},
    Known{"vm is in use", "vm.locked", "the machine's files are in use by another program; close it there"},
    Known{"appears to be in use", "vm.locked",
          "the machine's files are in use by another program; close it there"},
    Known{"operation was canceled", "vm.blocked",
          "the machine program gave up, as when it wanted to ask a question; look at it in its window"},
    Known{"one of the parameters was invalid", "vmrun.parameter", "vmrun refused a parameter"},
    Known{"is not supported", "vmrun.unsupported", "this vmrun does not support the command"},
    Known{"unable to connect to host", "vmrun.unreachable", "vmrun does not reach the machine service"},
    Known{"cannot connect to the virtual machine", "vmrun.unreachable", "vmrun does not reach the machine"},
    Known{"error in communication", "vmrun.unreachable", "vmrun lost the machine while it spoke to it"},
    Known{"vix_serviceprovider_vmware_workstation", "vmrun.product",
          "this vmrun does not serve VMware Workstation, or its licence is missing"},
    Known{"vmrun was unable to start", "vmrun.resources",
          "vmrun could not start; look at its installation and at free memory"},
    Known{"unrecognized command", "vmrun.command", "this vmrun does not know the command"},
    Known{"invalid argument", "vmrun.command", "this vmrun refused a flag"},
};

std::string lower(std::string_view text) {
  std::string result(text.substr(0, kMaxLine));
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

// The lines, without CR and the NULs of a wide encoding, at most kMaxItems + 2 of them, each cut to kMaxLine.
std::vector<std::string> lines_of(std::string_view bytes) {
  std::vector<std::string> lines;
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  if (bytes.starts_with("\xFF\xFE")) bytes.remove_prefix(2);
  std::string line;
  const auto finish = [&] {
    lines.push_back(std::move(line));
    line.clear();
  };
  for (const char c : bytes) {
    if (lines.size() > kMaxItems + 1) return lines;
    if (c == '\n') {
      finish();
    } else if (c != '\r' && c != '\0' && line.size() < kMaxLine) {
      line.push_back(c);
    }
  }
  if (!line.empty()) finish();
  return lines;
}

std::optional<int> number_after(std::string_view line, std::string_view label) {
  const auto at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = line.substr(at + label.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  int value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ec != std::errc() || read.ptr == rest.data()) return std::nullopt;
  return value;
}

VmrunAnswer failed(policy::Error error) {
  VmrunAnswer answer;
  answer.kind = VmrunAnswer::Kind::failed;
  answer.error = std::move(error);
  return answer;
}

VmrunAnswer found(VmrunAnswer::Kind kind) {
  VmrunAnswer answer;
  answer.kind = kind;
  return answer;
}

std::optional<VmrunAnswer> judge_line(std::string_view raw) {
  const std::string line = lower(raw);
  constexpr std::string_view exit_label = "guest program exited with non-zero exit code:";
  if (line.find(exit_label) != std::string::npos) {
    VmrunAnswer answer;
    answer.kind = VmrunAnswer::Kind::guest_exit;
    const auto code = number_after(line, exit_label);
    if (!code) return failed({"vmrun.output", "vmrun reported a guest exit code that is not a number"});
    answer.guest_exit = *code;
    return answer;
  }
  if (line.starts_with("error: ")) return failed(vmrun_error(raw.substr(7)));
  if (line == "the file exists." || line == "the directory exists.") return found(VmrunAnswer::Kind::exists);
  if (line == "the file does not exist." || line == "the directory does not exist.") {
    return found(VmrunAnswer::Kind::absent);
  }
  return std::nullopt;
}

// What stands below the header line `label N`.
policy::Result<std::vector<std::string>> items_below(std::string_view out, std::string_view label) {
  auto lines = lines_of(out);
  std::size_t at = 0;
  while (at < lines.size() && !number_after(lines[at], label)) ++at;
  if (at == lines.size()) {
    return policy::fail("vmrun.output", "vmrun answered without the line `" + std::string(label) + " N`");
  }
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  if (lines.size() > kMaxItems) return policy::fail("vmrun.output", "vmrun listed more than 1000 items");
  return lines;
}

}  // namespace

policy::Error vmrun_error(std::string_view sentence) {
  const std::string text = lower(sentence);
  for (const auto& known : kKnown) {
    if (text.find(known.sentence) != std::string::npos) {
      return {std::string(known.code), std::string(known.message)};
    }
  }
  return {"vmrun.other", "vmrun failed with a text that is not known; `doctor` shows it"};
}

VmrunAnswer classify(int exit, std::string_view out, std::string_view err) {
  for (const auto stream : {out, err}) {
    for (const auto& line : lines_of(stream)) {
      if (auto answer = judge_line(line)) return *answer;
    }
  }
  if (exit == 0) return {};
  return failed({"vmrun.other", "vmrun failed with exit code " + std::to_string(exit) + " and said nothing"});
}

policy::Result<std::vector<std::string>> parse_list(std::string_view out) {
  auto items = items_below(out, "Total running VMs:");
  if (!items) return items;
  const auto not_a_path = [](const std::string& line) {
    const bool drive = line.size() > 2 && line[1] == ':';
    return !line.starts_with('/') && !drive && !line.starts_with("\\\\");
  };
  items->erase(std::remove_if(items->begin(), items->end(), not_a_path), items->end());
  return items;
}

policy::Result<std::vector<std::string>> parse_snapshots(std::string_view out) {
  auto items = items_below(out, "Total snapshots:");
  if (!items) return items;
  for (auto& name : *items) name.erase(0, std::min(name.find_first_not_of('\t'), name.size()));
  items->erase(std::remove(items->begin(), items->end(), std::string()), items->end());
  return items;
}

policy::Result<ToolsState> parse_tools_state(std::string_view out) {
  for (const auto& line : lines_of(out)) {
    const auto word = lower(line);
    if (word == "running") return ToolsState::running;
    if (word == "installed") return ToolsState::installed;
    if (word == "unknown") return ToolsState::unknown;
  }
  return policy::fail("vmrun.output", "vmrun answered checkToolsState with none of its three words");
}

}  // namespace vmware
