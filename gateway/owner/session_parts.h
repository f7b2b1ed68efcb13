#pragma once

#include "gateway/mcp/session.h"

namespace gateway {

// What every MCP session of ours starts from: name, instructions, the tool table. `clock` outlives it.
mcp::Session::Parts session_parts(const policy::Clock& clock);
// The same for the command line, which may call the hidden tools too.
mcp::Session::Parts command_session_parts(const policy::Clock& clock);

}  // namespace gateway
