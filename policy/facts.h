#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <set>
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
};
inline constexpr std::size_t kFacts = 21;

enum class FactKind { word, text, number, size, duration, host_path, guest_path, labels };

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

// An action as rules name it. `copy_out` stands for both its halves, `any` for everything but vmrun.
struct ActionWord {
  std::string_view name;
  ActionSet actions;
};
std::span<const ActionWord> action_words();
const ActionWord* action_word(std::string_view name);

// One question as the rules see it. `withheld` are facts that could not be found out.
struct Question {
  const Request& request;
  const Facts& settings;
  std::bitset<kFacts> withheld = {};
};

// Nothing: unknown. `Later`: not known yet, and the same thing will be asked again when it is.
struct Later {};
using Value = std::variant<std::monostate, Later, std::int64_t, std::string_view, const HostPath*,
                           const GuestPath*, const std::set<std::string, std::less<>>*>;
Value value_of(Fact, const Question&);
// The names a path is made of; null for every other value.
const std::vector<std::string>* names_of(const Value&);

}  // namespace policy
