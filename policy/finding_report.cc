#include "policy/finding_report.h"

#include <set>

namespace policy {
namespace {

std::string_view word(Severity severity) { return severity == Severity::error ? "error" : "warning"; }

// A file's name as a relative or absolute URI reference.
std::string uri(std::string_view name) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[u >> 4]);
      out.push_back(kHex[u & 15]);
    }
  }
  return name.starts_with('/') ? "file://" + out : out;
}

Json object(Json::Object members) { return Json(std::move(members)); }

Json result(const Diagnostic& found) {
  const auto region = object({{"startLine", found.at.line}, {"startColumn", found.at.column}});
  const auto artifact = object({{"uri", uri(found.file)}});
  const auto place = object({{"artifactLocation", artifact}, {"region", region}});
  return object({{"ruleId", found.code},
                 {"level", word(found.severity)},
                 {"message", object({{"text", found.message}})},
                 {"locations", Json::Array{object({{"physicalLocation", place}})}}});
}

}  // namespace

Json findings_json(const Compiled& compiled) {
  Json::Array findings;
  for (const auto& found : compiled.diagnostics) {
    findings.push_back(object({{"file", found.file},
                               {"line", found.at.line},
                               {"column", found.at.column},
                               {"code", found.code},
                               {"severity", word(found.severity)},
                               {"message", found.message}}));
  }
  auto report = object({{"findings", std::move(findings)}});
  if (compiled.program) report["digest"] = compiled.program->digest().hex();
  return report;
}

Json findings_sarif(const Compiled& compiled, std::string_view version) {
  std::set<std::string> codes;
  Json::Array results, rules;
  for (const auto& found : compiled.diagnostics) {
    codes.insert(found.code);
    results.push_back(result(found));
  }
  for (const auto& code : codes) rules.push_back(object({{"id", code}}));
  const auto driver =
      object({{"name", "sallyport policy check"}, {"version", version}, {"rules", std::move(rules)}});
  const auto run = object({{"tool", object({{"driver", driver}})},
                           {"columnKind", "unicodeCodePoints"},
                           {"results", std::move(results)}});
  return object({{"version", "2.1.0"},
                 {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"runs", Json::Array{run}}});
}

}  // namespace policy
