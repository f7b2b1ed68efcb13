#include "gateway/owner/session_parts.h"

#include "gateway/tools/table.h"

namespace gateway {
namespace {

mcp::Session::Parts parts_with(const policy::Clock& clock, mcp::Tools tools) {
  mcp::Session::Parts parts;
  parts.server_version = SALLYPORT_VERSION;
  parts.instructions = mcp::default_instructions();
  parts.clock = &clock;
  parts.tools = [tools = std::move(tools)]() -> const mcp::Tools& { return tools; };
  return parts;
}

}  // namespace

mcp::Session::Parts session_parts(const policy::Clock& clock) {
  return parts_with(clock, {tools::list_json(), tools::callable_names()});
}

mcp::Session::Parts command_session_parts(const policy::Clock& clock) {
  mcp::Tools tools{tools::list_json(), {}};
  for (const auto& tool : tools::all()) tools.names.emplace_back(tool.name);
  return parts_with(clock, std::move(tools));
}

}  // namespace gateway
