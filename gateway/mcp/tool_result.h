#pragma once

#include <string>
#include <variant>
#include <vector>

namespace gateway::mcp {

struct Text {
  std::string text;
};

struct Image {
  std::string bytes;  // raw, not base64
  std::string mime_type;
};

using Content = std::variant<Text, Image>;

enum class ToolOutcome { success, error };

// What a tool call ends with, the same for every transport.
struct ToolResult {
  std::vector<Content> content;
  std::string structured;  // one JSON object on one line, valid UTF-8; empty when there is none
  ToolOutcome outcome = ToolOutcome::success;
};

}  // namespace gateway::mcp
