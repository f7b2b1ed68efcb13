#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/approval/desk.h"
#include "gateway/mcp/tool_result.h"
#include "gateway/tools/decoded.h"
#include "policy/grant.h"
#include "policy/result.h"
#include "vmware/machines.h"

// Results in the shapes the tools' output schemas promise. Everything from a guest is escaped and bounded.
namespace gateway::tools {

using mcp::ToolResult;
using Now = std::chrono::sys_seconds;

// Characters of stdout and stderr together in one answer.
inline constexpr std::size_t kMaxOutputChars = 40'000;
// Raw bytes of a picture in one answer, so that it stays under 1,000,000 bytes as base64.
inline constexpr std::size_t kMaxImageBytes = 700'000;

struct CopiedIn {
  std::string guest_path;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::string sha256 = {};  // of a single file; empty for a folder
};

struct CopiedOut {
  std::string saved_to;  // as the person who set up the transfer folder names it
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::string sha256 = {};                            // of a single file; empty for a folder
  std::map<std::string, std::uint64_t> skipped = {};  // reason (`link`, `name`, ...) -> count
  std::vector<std::string> skipped_names = {};        // the first few; hostile text
};

ToolResult created(const vmware::SandboxInfo&, Now);
ToolResult listed(const std::vector<vmware::SandboxInfo>&, Now);
ToolResult ran(const vmware::JobView&);
ToolResult started(const vmware::JobView&);
ToolResult checked(const vmware::JobView&, const Offsets& from);
enum class StopEffect { stopped, had_ended };
ToolResult stopped(const vmware::JobView&, StopEffect);
ToolResult copied_in(const CopiedIn&);
ToolResult copied_out(const CopiedOut&);
ToolResult screen(std::string png);
ToolResult clicked(const policy::Click&);
ToolResult typed(std::size_t characters);
ToolResult pressed(const policy::PressKey&);
ToolResult destroyed(const policy::SandboxId&);
ToolResult extended(const vmware::SandboxInfo&, Now);

// Refusals and failures: results with isError, a stable code, and what to do instead. Reasons and messages
// are shown to the caller, so they hold no host path, secret or guest output.
ToolResult refused(const policy::Denial&);
// A rule asks a person, and there is no answer, or another one than yes.
ToolResult unanswered(const policy::Ask&, const Desk::Reply&);
ToolResult failed(const policy::Error&);
// As failed(), naming the argument from Error::where.
ToolResult bad_argument(const policy::Error&);

// The closed list of what a refusal can be about, from its code.
std::string_view class_of(std::string_view code);

}  // namespace gateway::tools
