#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/request.h"

// What rules can ask about: the arguments of actions and what the gateway found out.
namespace policy {

enum class Fact : std::uint8_t {
  network,     // create: how the machine is connected
  command,     // run, start: text for a shell
  timeout,     // run
  host_path,   // copies: below the transfer folder
  guest_path,  // copies
  bytes,       // copies: of all files together
  files,       // copies: how many
  button,      // click
  count,       // click
  chars,       // type: length of the text
  keys,        // key
  by,          // extend
  cause,       // destroy
  name,        // images
  image,       // create: by name; `default` when none is named
  cpus,        // create: asked for; 0 when not, as the two below
  memory_mb,   // create
  disk_gb,     // create
  sandbox_network,
  sandbox_age,
  sandbox_labels,
  // Of web requests and tunnels.
  method,
  scheme,
  host,
  port,
  path,     // without the query
  url,      // all of it, the query included
  tls,      // whether the proxy looks into it
  address,  // all that the host stands for
};
inline constexpr std::size_t kFacts = 29;

enum class FactKind {
  word,
  text,
  number,
  size,
  duration,
  host_path,
  guest_path,
  labels,
  host,
  url_path,
  addresses,
};

// Bit i stands for the i-th alternative of Action.
using ActionSet = std::bitset<std::variant_size_v<Action>>;

struct FactInfo {
  Fact fact;
  std::string_view name;  // as rules write it; those of the sandbox stand below `sandbox:`
  FactKind kind;
  ActionSet actions;                               // those that have it
  std::span<const std::string_view> choices = {};  // of a word; any word when empty
};
std::span<const FactInfo> fact_table();
const FactInfo& info_of(Fact);
const FactInfo* fact_named(std::string_view name);

// The actions that `web:` is about, and that no rule of `actions:` names.
ActionSet web_actions();

// An action as rules name it. `copy_out` stands for both its halves, `any` for everything but vmrun and the
// web.
struct ActionWord {
  std::string_view name;
  ActionSet actions;
};
std::span<const ActionWord> action_words();
const ActionWord* action_word(std::string_view name);
// Actions that happen in a sandbox or make one.
ActionSet actions_in_sandboxes();
// Mouse and keyboard.
ActionSet input_actions();

// One question as the rules see it. `withheld` are facts that could not be found out.
struct Question {
  const Request& request;
  const Facts& settings;
  std::bitset<kFacts> withheld = {};
};

// Nothing: unknown. `Later`: not known yet, and the same thing will be asked again when it is.
struct Later {};
using Names = std::vector<std::string>;
using Value = std::variant<std::monostate, Later, std::int64_t, std::string_view, const HostPath*,
                           const GuestPath*, const Labels*, const Names*, const std::vector<Address>*>;
Value value_of(Fact, const Question&);
// What PathPattern is matched with: the components of a path, the labels of a host, the segments of a URL's
// path. Null for every other value.
const Names* names_of(const Value&);

}  // namespace policy
