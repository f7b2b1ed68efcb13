#include <string>

#include "gateway/tools/table.h"

namespace gateway::tools {
namespace {

std::string type_of(const Field& field) {
  switch (field.type) {
    case FieldType::string:
      return "string";
    case FieldType::integer:
      return "integer";
    case FieldType::boolean:
      return "boolean";
    case FieldType::strings:
      return "list of strings";
    case FieldType::counts:
      return "object of integers";
    case FieldType::objects:
      break;
  }
  return "list of objects";
}

std::string limits_of(const Field& field) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  for (const auto choice : field.choices) text += (text.empty() ? "`" : ", `") + std::string(choice) + "`";
  if (field.maximum) add(std::to_string(field.minimum.value_or(0)) + " to " + std::to_string(*field.maximum));
  if (field.max_length != 0) add("at most " + std::to_string(field.max_length) + " characters");
  if (!field.default_value.empty()) add("default `" + std::string(field.default_value) + "`");
  return text;
}

void table(std::span<const Field> fields, std::string_view prefix, std::string& out) {
  for (const auto& field : fields) {
    out += "| `" + std::string(prefix) + std::string(field.name) + "` | " + type_of(field) + " | " +
           (field.presence == Presence::required ? "yes" : "no") + " | " + limits_of(field) + " | " +
           std::string(field.description) + " |\n";
    table(field.members, std::string(prefix) + std::string(field.name) + "[].", out);
  }
}

void section(std::string_view title, std::string_view column, std::span<const Field> fields,
             std::string& out) {
  out += "\n" + std::string(title) + "\n\n| name | type | " + std::string(column) +
         " | limits | meaning |\n|---|---|---|---|---|\n";
  table(fields, "", out);
}

std::string hints(const Annotations& hint) {
  const auto word = [](bool on, std::string_view name) { return (on ? "" : "not ") + std::string(name); };
  return word(hint.read_only, "read-only") + ", " + word(hint.destructive, "destructive") + ", " +
         word(hint.idempotent, "idempotent") + ", " + word(hint.open_world, "open-world");
}

}  // namespace

std::string markdown() {
  std::string out =
      "# Tools\n\n"
      "Made from the tool table by `sallyport tools --markdown`; a test keeps it so.\n\n"
      "Arguments that no tool has are refused. Numbers and booleans may arrive as text. An optional argument "
      "may\n"
      "be left out or null.\n";
  for (const auto& tool : all()) {
    out += "\n## `" + std::string(tool.name) + "`: " + std::string(tool.title) + "\n\n" +
           std::string(tool.description) + "\n\nPolicy calls it `" + std::string(tool.action) +
           "`. Hints: " + hints(tool.annotations) + ".";
    if (tool.visibility == Visibility::cli) out += " Only for the command line; MCP clients do not have it.";
    out += '\n';
    if (!tool.fields.empty()) section("Arguments:", "required", tool.fields, out);
    section("Result:", "always", tool.results, out);
  }
  out += "\n## Refusals and failures\n\nA result with `isError`, a short text, and:\n";
  section("Members:", "always", refusal_fields(), out);
  return out;
}

}  // namespace gateway::tools
