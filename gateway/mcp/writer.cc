#include "gateway/mcp/writer.h"

#include <algorithm>
#include <cstdint>

#include "policy/json.h"

namespace gateway::mcp {

using policy::canonical_string;

std::string result_line(const RequestId& id, std::string_view body) {
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line.reserve(body.size() + 64);
  line += spelling(id);
  line += R"(,"result":)";
  line += body;
  line += '}';
  return line;
}

std::string error_line(const std::optional<RequestId>& id, int code, std::string_view message,
                       std::string_view data) {
  std::string line = R"({"jsonrpc":"2.0")";
  if (id) line += R"(,"id":)" + spelling(*id);
  line += R"(,"error":{"code":)" + std::to_string(code) + R"(,"message":)";
  canonical_string(message, line);
  if (!data.empty()) {
    line += R"(,"data":)";
    line += data;
  }
  line += "}}";
  return line;
}

std::string progress_line(std::string_view token, int done, int total, std::string_view message) {
  std::string line = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)";
  line += token;
  line += R"(,"progress":)" + std::to_string(done);
  if (total > 0) line += R"(,"total":)" + std::to_string(total);
  if (!message.empty()) {
    line += R"(,"message":)";
    canonical_string(message, line);
  }
  line += "}}";
  return line;
}

std::string tool_result_members(const ToolResult& result) {
  struct Write {
    std::string& to;
    void operator()(const Text& block) const {
      to += R"({"type":"text","text":)";
      canonical_string(block.text, to);
      to += '}';
    }
    void operator()(const Image& block) const {
      to += R"({"type":"image","data":")" + base64(block.bytes) + R"(","mimeType":)";
      canonical_string(block.mime_type, to);
      to += '}';
    }
  };
  std::string members = R"("content":[)";
  for (std::size_t i = 0; i < result.content.size(); ++i) {
    if (i > 0) members += ',';
    std::visit(Write{members}, result.content[i]);
  }
  members += ']';
  if (!result.structured.empty()) {
    members += R"(,"structuredContent":)";
    const std::size_t begin = members.size();
    members += result.structured;
    // A line end can only stand between the tokens of JSON, where a blank does as well.
    std::replace_if(
        members.begin() + static_cast<std::ptrdiff_t>(begin), members.end(),
        [](char c) { return c == '\n' || c == '\r'; }, ' ');
  }
  members += result.outcome == ToolOutcome::error ? R"(,"isError":true)" : R"(,"isError":false)";
  return members;
}

std::string base64(std::string_view bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= have ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

}  // namespace gateway::mcp
