#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/digest.h"
#include "policy/ids.h"
#include "policy/json.h"
#include "policy/path.h"
#include "policy/web_target.h"

// Each thing that can happen, as a plain struct. Policy speaks of these and never of MCP tools: tools, the
// command line and whatever comes later map onto them, so a rule never changes its meaning.
namespace policy {

enum class Network { none, web, nat };
enum class MouseButton { left, right, middle };

// 1 to 60 letters, digits, `.`, `_` and `-`, with a letter or digit first: a file name that leads nowhere
// else.
bool is_image_name(std::string_view name);

struct Create {
  static constexpr std::string_view kName = "create";
  Network network = Network::none;
  std::string image = {};  // a name from the images folder; empty: the base of the settings
  // 0: as the base has it.
  std::uint32_t cpus = 0;
  std::uint32_t memory_mb = 0;
  std::uint32_t disk_gb = 0;
};

struct List {
  static constexpr std::string_view kName = "list";
};

struct Run {
  static constexpr std::string_view kName = "run";
  SandboxId sandbox;
  std::string command;  // text for bash in the guest
  std::chrono::seconds timeout{};
};

struct Start {
  static constexpr std::string_view kName = "start";
  SandboxId sandbox;
  std::string command;
};

struct Check {
  static constexpr std::string_view kName = "check";
  SandboxId sandbox;
  JobId job;
};

struct Stop {
  static constexpr std::string_view kName = "stop";
  SandboxId sandbox;
  JobId job;
};

// What a survey of the source found before the decision: regular files, their bytes together, and SHA-256
// over the list of (name, size, digest). A copy whose content no longer has this manifest is not the copy
// that was judged.
struct Survey {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  Sha256 manifest;
};

struct CopyIn {
  static constexpr std::string_view kName = "copy_in";
  SandboxId sandbox;
  HostPath host_path;
  GuestPath guest_path;
  Survey survey;
};

// copy_out, first half: bytes from the guest into private staging, under limits.
struct FetchOut {
  static constexpr std::string_view kName = "copy_out";
  SandboxId sandbox;
  GuestPath guest_path;
  HostPath host_path;
};

// copy_out, second half: what was accepted in staging becomes visible in the transfer folder.
struct PublishOut {
  static constexpr std::string_view kName = "copy_out.publish";
  SandboxId sandbox;
  GuestPath guest_path;
  HostPath host_path;
  Survey survey;
};

struct Screenshot {
  static constexpr std::string_view kName = "screenshot";
  SandboxId sandbox;
};

struct Click {
  static constexpr std::string_view kName = "click";
  SandboxId sandbox;
  std::int32_t x = 0, y = 0;  // pixels from the top left
  MouseButton button = MouseButton::left;
  std::int32_t count = 1;
};

struct TypeText {
  static constexpr std::string_view kName = "type";
  SandboxId sandbox;
  std::string text;
};

struct PressKey {
  static constexpr std::string_view kName = "key";
  SandboxId sandbox;
  std::string keys;  // `ctrl+alt+t`
};

struct Extend {
  static constexpr std::string_view kName = "extend";
  SandboxId sandbox;
  std::chrono::seconds by{};
};

// A web request whose request line is seen: plain http, or https that ends in the proxy. Judged by the rules
// of `web:`.
struct Fetch {
  static constexpr std::string_view kName = "fetch";
  SandboxId sandbox;
  std::string method;
  WebTarget target;
  std::string url;                  // the target as text, without a port that goes without saying
  std::vector<std::string> labels;  // of target.host, the top level first; an address is one label
  std::vector<Address> addresses;   // that the host stands for; none: not looked up yet
};
Fetch fetch_of(SandboxId, std::string method, WebTarget);

// A connection that CONNECT asks for. `inspected`: TLS ends in the proxy and each request inside is a Fetch;
// otherwise nobody sees what is asked inside.
struct Tunnel {
  static constexpr std::string_view kName = "tunnel";
  enum class Sight { inspected, opaque };
  SandboxId sandbox;
  Host host;
  std::uint16_t port = 443;
  Sight sight = Sight::opaque;
  std::vector<std::string> labels;  // as Fetch has them
  std::vector<Address> addresses;   // likewise
};
Tunnel tunnel_of(SandboxId, Host, std::uint16_t port, Tunnel::Sight);

enum class DestroyCause { asked, expired, orphaned, rolled_back, kill_switch, shutdown, withdrawn };

struct Destroy {
  static constexpr std::string_view kName = "destroy";
  SandboxId sandbox;
  DestroyCause cause = DestroyCause::asked;
};

// Destroys every sandbox and refuses new calls until it is lifted.
struct KillSwitch {
  static constexpr std::string_view kName = "kill_switch";
  enum class Position { on, off } position = Position::on;
};

// A person's answer to what a rule asked. What is approved is done when it is asked for again.
struct Approve {
  static constexpr std::string_view kName = "approve";
  enum class Answer { allow, deny, dismiss } answer = Answer::deny;  // dismiss: closed without a choice
  std::string question;                                              // as `ask-…`
  // How it came: from a command of the person's own, or through the client that made the call.
  enum class Channel { command, client } channel = Channel::command;
};

struct BuildImage {
  static constexpr std::string_view kName = "image_build";
  std::string name;
};

struct RemoveImage {
  static constexpr std::string_view kName = "image_remove";
  std::string name;
};

enum class VmrunVerb {
  list,
  start,
  stop,
  list_snapshots,
  clone,
  delete_vm,
  check_tools_state,
  run_program,
  file_exists,
  copy_to_guest,
  copy_from_guest,
  delete_file,
  capture_screen,
};

// One vmrun command. `vmx` is the absolute .vmx path it names (empty for `list`), `arguments` the words after
// it; flags and login are the driver's and not part of the question.
struct Vmrun {
  static constexpr std::string_view kName = "vmrun";
  VmrunVerb verb = VmrunVerb::list;
  std::string vmx;
  std::vector<std::string> arguments;
  std::optional<SandboxId>
      sandbox;  // the clone it serves; empty for `list` and for commands on the base alone
};

using Action = std::variant<Create, List, Run, Start, Check, Stop, CopyIn, FetchOut, PublishOut, Screenshot,
                            Click, TypeText, PressKey, Extend, Destroy, KillSwitch, Approve, BuildImage,
                            RemoveImage, Vmrun, Fetch, Tunnel>;

// The spellings used in policies, tools and the log.
std::string_view spelling(Network);
std::string_view spelling(MouseButton);
std::string_view spelling(DestroyCause);
std::string_view spelling(Approve::Answer);
std::string_view spelling(Approve::Channel);
std::string_view spelling(VmrunVerb);  // as vmrun spells it: `checkToolsState`
std::optional<Network> network_from(std::string_view);
std::optional<VmrunVerb> vmrun_verb_from(std::string_view);

// `run`, `copy_in`, ...
std::string_view name_of(const Action&);
// The sandbox an action is about, if it is about one.
const SandboxId* sandbox_of(const Action&);

// Everything that was asked, by field name, for the log and for digests. Typed text is never in it: it stands
// as its length and a digest keyed with `text_key`.
Json describe(const Action&, std::string_view text_key);

}  // namespace policy
