#include "gateway/mcp/message.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "policy/json.h"

namespace gateway::mcp {
namespace {

using nlohmann::json;

// Nothing when the value cannot be an id.
std::optional<RequestId> id_from(const json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > kMaxIdBytes) return std::nullopt;
    return RequestId(text);
  }
  if (value.is_number_integer()) return RequestId(value.get<std::int64_t>());  // the reader keeps to 2^53
  return std::nullopt;
}

Invalid from_fault(const JsonRead& read) {
  const bool not_json = read.fault == JsonFault::syntax;
  Invalid invalid{not_json ? code::kParse : code::kInvalidRequest, read.message, std::nullopt};
  // After a syntax error even what was read before it may be something else.
  if (!not_json && read.top_id) invalid.id = id_from(*read.top_id);
  return invalid;
}

}  // namespace

std::string spelling(const RequestId& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return std::to_string(*number);
  std::string text;
  policy::canonical_string(std::get<std::string>(id), text);
  return text;
}

Message parse_message(std::string_view line) {
  const JsonRead read = read_json(line);
  if (!read.value) return from_fault(read);
  const json& root = *read.value;
  const auto invalid = [](std::string message, std::optional<RequestId> id = {}) {
    return Invalid{code::kInvalidRequest, std::move(message), std::move(id)};
  };

  if (root.is_array()) return invalid("batches are not taken; send each message on its own");
  if (!root.is_object()) return invalid("a message is a JSON object");
  const auto id_at = root.find("id");
  const bool has_id = id_at != root.end();
  const std::optional<RequestId> id = has_id ? id_from(*id_at) : std::nullopt;

  const auto version = root.find("jsonrpc");
  if (version == root.end() || !version->is_string() || version->get_ref<const std::string&>() != "2.0") {
    return invalid("`jsonrpc` must be \"2.0\"", id);
  }
  const auto method = root.find("method");
  if (method == root.end()) {
    const auto result = root.find("result");
    const bool failed = root.contains("error");
    if (result != root.end() && !failed) return Response{id, JsonPtr(read.value, &*result)};
    if (result != root.end() || failed) return Response{id, nullptr};
    return invalid("`method` is missing", id);
  }
  if (!method->is_string()) return invalid("`method` must be a string", id);
  const auto& name = method->get_ref<const std::string&>();
  if (name.size() > kMaxMethodBytes) return invalid("`method` is too long", id);
  if (root.contains("result") || root.contains("error")) {
    return invalid("a request has no `result` or `error`", id);
  }
  if (has_id && !id) {
    return invalid("`id` must be an integer or a string of at most " + std::to_string(kMaxIdBytes) +
                   " bytes");
  }

  JsonPtr params;
  if (const auto at = root.find("params"); at != root.end()) {
    if (!at->is_object()) {
      if (has_id) return Invalid{code::kInvalidParams, "`params` must be an object", id};
      return Notification{name, nullptr};
    }
    params = JsonPtr(read.value, &*at);
  }
  if (!has_id) return Notification{name, std::move(params)};
  return Request{*id, name, std::move(params)};
}

}  // namespace gateway::mcp
