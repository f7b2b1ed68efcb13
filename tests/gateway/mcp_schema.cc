#include "tests/gateway/mcp_schema.h"

#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace mcp_test {
namespace {

using nlohmann::json;

std::string fault(const valijson::Schema& schema, const json& value) {
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(value);
  if (validator.validate(schema, target, &results)) return {};
  std::string text;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const auto& step : error.context) text += step;
    text += ": " + error.description + "; ";
  }
  return text.empty() ? "does not match" : text;
}

std::unique_ptr<valijson::Schema> parsed(const json& document) {
  auto schema = std::make_unique<valijson::Schema>();
  valijson::SchemaParser parser;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  parser.populateSchema(adapter, *schema);
  return schema;
}

const valijson::Schema& definition_of(const std::string& revision, const std::string& definition) {
  static std::map<std::string, std::unique_ptr<valijson::Schema>> known;
  auto& slot = known[revision + "#" + definition];
  if (!slot) {
    const json all =
        json::parse(read_file(SALLYPORT_SOURCE_DIR "/tests/data/mcp/" + revision + ".schema.json"));
    const std::string group = all.contains("$defs") ? "$defs" : "definitions";
    if (!all.at(group).contains(definition)) throw std::runtime_error(revision + " has no " + definition);
    slot = parsed(json{{"$ref", "#/" + group + "/" + definition}, {group, all.at(group)}});
  }
  return *slot;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string fault_against(std::string_view revision, std::string_view definition, std::string_view value) {
  return fault(definition_of(std::string(revision), std::string(definition)), json::parse(value));
}

std::string fault_in(std::string_view schema, std::string_view value) {
  return fault(*parsed(json::parse(schema)), json::parse(value));
}

std::string fault_in_line(std::string_view revision, std::string_view method, std::string_view line) {
  if (line.find('\n') != std::string_view::npos) return "a line end within";
  const json message = json::parse(line);
  const bool new_names = revision >= "2025-11-25";
  if (message.contains("error")) {
    // Where no id could be read the older schemas have no shape at all for the answer.
    if (!message.contains("id") && !new_names) return {};
    return fault_against(revision, new_names ? "JSONRPCErrorResponse" : "JSONRPCError", line);
  }
  if (message.contains("method")) {
    static const std::map<std::string, std::string, std::less<>> sent{
        {"notifications/progress", "ProgressNotification"},
        {"notifications/cancelled", "CancelledNotification"},
        {"elicitation/create", "ElicitRequest"}};
    return fault_against(revision, sent.at(message.at("method").get<std::string>()), line);
  }
  const auto envelope =
      fault_against(revision, new_names ? "JSONRPCResultResponse" : "JSONRPCResponse", line);
  if (!envelope.empty()) return envelope;
  static const std::map<std::string, std::string, std::less<>> results{{"initialize", "InitializeResult"},
                                                                       {"ping", "EmptyResult"},
                                                                       {"server/discover", "DiscoverResult"},
                                                                       {"tools/list", "ListToolsResult"},
                                                                       {"tools/call", "CallToolResult"}};
  if (message.at("result").value("resultType", "") == "input_required") {
    return fault_against(revision, "InputRequiredResult", message.at("result").dump());
  }
  return fault_against(revision, results.at(std::string(method)), message.at("result").dump());
}

}  // namespace mcp_test
