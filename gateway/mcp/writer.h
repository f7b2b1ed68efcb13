#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/message.h"
#include "gateway/mcp/tool_result.h"

// Outgoing messages: compact JSON on one line with a fixed order of keys. Bytes that are not UTF-8 come out
// as U+FFFD, so nothing a guest prints can break the line or the encoding.
namespace gateway::mcp {

// `body` is a JSON object.
std::string result_line(const RequestId& id, std::string_view body);
// `data` is JSON or empty. Without an id the member is left out, as the newer revisions want it.
std::string error_line(const std::optional<RequestId>& id, int code, std::string_view message,
                       std::string_view data = {});
// `token` is JSON; `total` is left out when it is 0.
std::string progress_line(std::string_view token, int done, int total, std::string_view message);

// The members of a tools/call result, without the braces.
std::string tool_result_members(const ToolResult&);

std::string base64(std::string_view bytes);

}  // namespace gateway::mcp
