#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace gateway::mcp {

// A value that was read and is never changed; parts of a document share its storage.
using JsonPtr = std::shared_ptr<const nlohmann::json>;

struct JsonLimits {
  std::size_t bytes = std::size_t{10} << 20;  // what the official stdio client itself takes
  std::size_t depth = 64;                     // arrays and objects inside one another
  std::size_t values = 200'000;               // bounds memory: a short text can hold millions of `[]`
};

enum class JsonFault { syntax, too_large, too_deep, too_many, duplicate_key, number };

struct JsonRead {
  JsonPtr value;  // null on failure
  // On failure:
  JsonFault fault = JsonFault::syntax;
  std::string message;  // names the rule, never quotes the input
  JsonPtr top_id;       // the outermost object's `id` when it had been read before the fault, else null
};

// Strict JSON (RFC 8259): valid UTF-8, no lone surrogates, no duplicate keys, integers within ±2^53, so that
// every number comes out as it went in. Works in constant stack. Never throws.
JsonRead read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace gateway::mcp
