#pragma once

#include <cstdint>
#include <functional>

#include "gateway/mcp/session.h"
#include "gateway/tools/table.h"

namespace gateway {

// Which tools a client is offered; one that is not may be called all the same, and is judged.
struct Offering {
  std::function<bool(const tools::Tool&)> offered;
  std::function<std::uint64_t()> version;  // another number whenever `offered` may answer otherwise
};

Offering everything_offered();

// What every MCP session of ours starts from: name, instructions, the tool table. `clock` outlives it.
mcp::Session::Parts session_parts(const policy::Clock& clock, Offering offering);
// The same for the command line, which may call the hidden tools too.
mcp::Session::Parts command_session_parts(const policy::Clock& clock);

}  // namespace gateway
