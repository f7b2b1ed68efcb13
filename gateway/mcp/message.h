#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "gateway/mcp/json_reader.h"

namespace gateway::mcp {

// Answers carry it with the type it came with.
using RequestId = std::variant<std::int64_t, std::string>;

// As text for logs: `7` or `"seven"`.
std::string spelling(const RequestId&);

namespace code {
inline constexpr int kParse = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kUnsupportedVersion = -32022;
}  // namespace code

struct Request {
  RequestId id;
  std::string method;
  JsonPtr params;  // an object; null when absent
};

struct Notification {
  std::string method;
  JsonPtr params;  // an object; null when absent
};

// The client's answer to a request of ours.
struct Response {
  std::optional<RequestId> id;
  JsonPtr result;  // null for an error, and for what claims to be both
};

struct Invalid {
  int code = 0;
  std::string message;
  std::optional<RequestId> id;  // when it could be read
};

using Message = std::variant<Request, Notification, Response, Invalid>;

inline constexpr std::size_t kMaxIdBytes = 1024;
inline constexpr std::size_t kMaxMethodBytes = 256;

// One JSON-RPC 2.0 message. Batches are refused in every revision.
Message parse_message(std::string_view line);

}  // namespace gateway::mcp
