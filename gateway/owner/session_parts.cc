#include "gateway/owner/session_parts.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace gateway {
namespace {

mcp::Session::Parts parts_of(const policy::Clock& clock) {
  mcp::Session::Parts parts;
  parts.server_version = SALLYPORT_VERSION;
  parts.instructions = mcp::default_instructions();
  parts.clock = &clock;
  return parts;
}

// The list, made anew only when others may be offered: it is asked for with every call.
struct Offer {
  Offering offering;
  std::optional<std::uint64_t> made_at;
  mcp::Tools tools{{}, tools::callable_names()};

  const mcp::Tools& now() {
    const auto version = offering.version();
    if (made_at != version) {
      tools.list = tools::list_json(offering.offered);
      made_at = version;
    }
    return tools;
  }
};

}  // namespace

Offering everything_offered() {
  return {[](const tools::Tool&) { return true; }, [] { return std::uint64_t{0}; }};
}

mcp::Session::Parts session_parts(const policy::Clock& clock, Offering offering) {
  auto parts = parts_of(clock);
  parts.tools = [offer = std::make_shared<Offer>(Offer{std::move(offering), {}})]() -> const mcp::Tools& {
    return offer->now();
  };
  return parts;
}

mcp::Session::Parts command_session_parts(const policy::Clock& clock) {
  mcp::Tools tools{tools::list_json(), {}};
  for (const auto& tool : tools::all()) tools.names.emplace_back(tool.name);
  auto parts = parts_of(clock);
  parts.tools = [tools = std::move(tools)]() -> const mcp::Tools& { return tools; };
  return parts;
}

}  // namespace gateway
