#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/tools/decoded.h"
#include "policy/digest.h"
#include "policy/result.h"

#include <nlohmann/json_fwd.hpp>

// The tools, as data: one table makes the argument decoder, the schemas, the list and the documentation.
namespace gateway::tools {

// `strings`: an array of strings; `counts`: an object of integers; `objects`: an array of objects. Arguments
// are of the first three types only.
enum class FieldType { string, integer, boolean, strings, counts, objects };
enum class Presence { required, optional };

// One argument, or one member of a result.
struct Field {
  std::string_view name;
  FieldType type = FieldType::string;
  Presence presence = Presence::required;
  std::string_view description;
  std::vector<std::string_view> choices = {};  // of a string; empty: any
  std::size_t max_length = 0;                  // of a string, in characters; 0: not limited here
  std::optional<std::int64_t> minimum = {};    // of an integer
  std::optional<std::int64_t> maximum = {};    // of an integer
  std::string_view default_value = {};         // as written in JSON, `120` or `"none"`; empty: none
  std::vector<Field> members = {};             // of objects
};

enum class Visibility { everyone, cli };  // cli: never listed to or callable by an MCP client

struct Annotations {
  bool read_only = false;
  bool destructive = false;
  bool idempotent = false;
  bool open_world = false;
};

class Arguments;

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;  // under 2 KB
  std::string_view action;       // policy's name for what it does: `run`
  Annotations annotations;
  Visibility visibility = Visibility::everyone;
  std::vector<Field> fields;
  policy::Result<Call> (*decode)(const Arguments&);
  std::vector<Field> results;  // of a success
};

// In the order they are listed.
std::span<const Tool> all();
const Tool* find(std::string_view name);

// JSON array for `tools/list`: one line, the same bytes for the same selection. `listed` chooses among the
// tools visible to everyone; null means all.
std::string list_json(const std::function<bool(const Tool&)>& listed = {});
std::string input_schema(const Tool&);
// A success has the tool's results, a refusal those of refusal_fields(); the schema takes either, because
// official clients check results with isError against it too.
std::string output_schema(const Tool&);
// What every refusal and failure consists of.
std::span<const Field> refusal_fields();
// Names an MCP client may call.
std::vector<std::string> callable_names();
// SHA-256 of list_json() of all tools: changes whenever a client would see another tool list.
policy::Sha256 digest();
// docs/tools.md.
std::string markdown();

// The arguments of a call as its typed form. Codes: `argument.unknown_tool`, `argument.unknown`,
// `argument.missing`, `argument.type`, `argument.choice`, `argument.range`, `argument.too_long`,
// `argument.encoding`, and those of the paths and ids within. `where` is the argument's name. Numbers and
// booleans that arrive as strings are taken when the string is exactly one of them; an optional argument may
// be null.
policy::Result<Call> decode(const Tool&, const nlohmann::json& arguments);
// The same from JSON text, for transports that are not MCP.
policy::Result<Call> decode_text(const Tool&, std::string_view arguments);

}  // namespace gateway::tools
