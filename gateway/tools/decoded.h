#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "policy/action.h"

namespace gateway::tools {

// A copy's action exists only after the source was surveyed.
struct CopyIn {
  policy::SandboxId sandbox;
  policy::HostPath host_path;
  policy::GuestPath guest_path;
};

// Where to read on is a matter of the answer, not of the action. Bytes from the start of the stream.
struct Offsets {
  std::optional<std::uint64_t> out;
  std::optional<std::uint64_t> err;
};

struct Check {
  policy::Check action;
  Offsets from;
};

// A tool call whose arguments are typed: nothing behind this sees JSON.
using Call = std::variant<policy::Create, policy::List, policy::Run, policy::Start, Check, policy::Stop,
                          CopyIn, policy::FetchOut, policy::Screenshot, policy::Click, policy::TypeText,
                          policy::PressKey, policy::Destroy, policy::Extend>;

}  // namespace gateway::tools
