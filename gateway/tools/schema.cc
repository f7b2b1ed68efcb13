#include <nlohmann/json.hpp>

#include "gateway/tools/table.h"

// The table as JSON Schema 2020-12, for tools/list. Only plain keywords: some clients turn down a tool, or
// the whole list, for type unions and for combinators in an input schema.
namespace gateway::tools {
namespace {

using Json = nlohmann::ordered_json;

Json object_schema(std::span<const Field> fields);

Json field_schema(const Field& field) {
  Json schema;
  switch (field.type) {
    case FieldType::string:
      schema["type"] = "string";
      break;
    case FieldType::integer:
      schema["type"] = "integer";
      break;
    case FieldType::boolean:
      schema["type"] = "boolean";
      break;
    case FieldType::strings:
      schema["type"] = "array";
      schema["items"] = Json{{"type", "string"}};
      break;
    case FieldType::counts:
      schema["type"] = "object";
      schema["additionalProperties"] = Json{{"type", "integer"}, {"minimum", 0}};
      break;
    case FieldType::objects:
      schema["type"] = "array";
      schema["items"] = object_schema(field.members);
      break;
  }
  schema["description"] = field.description;
  if (!field.choices.empty()) schema["enum"] = field.choices;
  if (field.max_length != 0) schema["maxLength"] = field.max_length;
  if (field.minimum) schema["minimum"] = *field.minimum;
  if (field.maximum) schema["maximum"] = *field.maximum;
  if (!field.default_value.empty()) schema["default"] = Json::parse(field.default_value);
  return schema;
}

Json properties(std::span<const Field> fields) {
  Json all = Json::object();
  for (const auto& field : fields) all[std::string(field.name)] = field_schema(field);
  return all;
}

Json required(std::span<const Field> fields) {
  Json names = Json::array();
  for (const auto& field : fields) {
    if (field.presence == Presence::required) names.push_back(field.name);
  }
  return names;
}

Json object_schema(std::span<const Field> fields) {
  Json schema{{"type", "object"}, {"properties", properties(fields)}};
  if (Json names = required(fields); !names.empty()) schema["required"] = std::move(names);
  schema["additionalProperties"] = false;
  return schema;
}

Json output_of(const Tool& tool) {
  Json members = properties(tool.results);
  members.update(properties(refusal_fields()));
  const auto branch = [](std::span<const Field> fields) {
    return Json{{"type", "object"}, {"required", required(fields)}};
  };
  return Json{{"type", "object"},
              {"properties", std::move(members)},
              {"anyOf", Json::array({branch(tool.results), branch(refusal_fields())})},
              {"additionalProperties", false}};
}

}  // namespace

std::string input_schema(const Tool& tool) { return object_schema(tool.fields).dump(); }
std::string output_schema(const Tool& tool) { return output_of(tool).dump(); }

std::string list_json(const std::function<bool(const Tool&)>& listed) {
  Json list = Json::array();
  for (const auto& tool : all()) {
    if (tool.visibility != Visibility::everyone || (listed && !listed(tool))) continue;
    list.push_back(Json{{"name", tool.name},
                        {"title", tool.title},
                        {"description", tool.description},
                        {"inputSchema", object_schema(tool.fields)},
                        {"outputSchema", output_of(tool)},
                        {"annotations",
                         {{"title", tool.title},
                          {"readOnlyHint", tool.annotations.read_only},
                          {"destructiveHint", tool.annotations.destructive},
                          {"idempotentHint", tool.annotations.idempotent},
                          {"openWorldHint", tool.annotations.open_world}}}});
  }
  return list.dump();
}

policy::Sha256 digest() { return policy::sha256(list_json()); }

}  // namespace gateway::tools
