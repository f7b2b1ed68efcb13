#include "gateway/cli/url_line.h"

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/cli/json_line.h"
#include "policy/address_class.h"
#include "policy/web_target.h"

namespace gateway::cli {
namespace {

using nlohmann::json;
using policy::Result;

struct Stated {
  policy::WebTarget target;
  bool path_rule = false;
};

Result<std::string> text_of(const json& object, const std::string& key) {
  const auto at = object.find(key);
  if (at == object.end()) return invalid_line("`" + key + "` is missing");
  if (!at->is_string()) return invalid_line("`" + key + "` must be text");
  return at->get<std::string>();
}

Result<std::vector<std::string>> hosts_of(const json& object) {
  std::vector<std::string> hosts;
  const auto at = object.find("host");
  if (at == object.end()) return hosts;
  if (!at->is_array()) return invalid_line("`host` must be a list of the values of Host fields");
  for (const auto& host : *at) {
    if (!host.is_string()) return invalid_line("`host` must be a list of the values of Host fields");
    hosts.push_back(host.get<std::string>());
  }
  return hosts;
}

Result<policy::WebTarget> target_of(const json& object) {
  static constexpr std::array<std::string_view, 3> kUrl{"id", "url", "context"};
  static constexpr std::array<std::string_view, 5> kRequest{"id", "method", "target", "host", "context"};
  if (object.contains("url")) {
    if (const auto checked = only_keys(object, "a line with `url`", kUrl); !checked)
      return tl::unexpected(checked.error());
    const auto url = text_of(object, "url");
    return url ? policy::parse_url(*url) : tl::unexpected(url.error());
  }
  if (const auto checked = only_keys(object, "the request", kRequest); !checked)
    return tl::unexpected(checked.error());
  const auto method = text_of(object, "method");
  if (!method) return tl::unexpected(method.error());
  const auto target = text_of(object, "target");
  if (!target) return tl::unexpected(target.error());
  const auto hosts = hosts_of(object);
  if (!hosts) return tl::unexpected(hosts.error());
  const std::vector<std::string_view> fields(hosts->begin(), hosts->end());
  return policy::parse_web_target(*method, *target, fields);
}

Result<Stated> read(const json& object) {
  bool path_rule = false;
  if (const auto context = object.find("context"); context != object.end()) {
    path_rule = *context == "path-rule";
    if (!path_rule && *context != "any") return invalid_line("`context` must be `any` or `path-rule`");
  }
  auto target = target_of(object);
  if (!target) return tl::unexpected(target.error());
  return Stated{std::move(*target), path_rule};
}

std::string refused(const JsonLine& line, std::string_view code, std::string_view reason) {
  return refusal_of(line, "verdict", "refuse", code, reason);
}

std::string address_of(const policy::Host& host) {
  if (host.is_name()) return "dns";
  const auto refused_as = policy::refused_class(*host.address());
  return refused_as ? "refuse: " + std::string(refused_as->code) : "allow";
}

}  // namespace

std::string answer_url(std::string_view text) {
  const auto line = read_json_line(text);
  if (!line.object) return refused(line, kInvalidLine, line.fault);
  const auto stated = read(*line.object);
  if (!stated) return refused(line, stated.error().code, stated.error().message);
  const auto& target = stated->target;
  if (const auto code = policy::refused_name_class(target.host)) {
    return refused(line, *code, "such a name is not looked up, unless a rule names exactly this host");
  }
  if (stated->path_rule && target.path_fault)
    return refused(line, target.path_fault->code, target.path_fault->message);
  auto out = answer_to(line);
  out["verdict"] = "normalise";
  out["target"] = target.authority() + target.path;
  out["address"] = address_of(target.host);
  if (target.host_rewritten) out["host_rewritten"] = true;
  return line_of(out);
}

std::string url_too_long() { return refused({}, kInvalidLine, too_long_reason()); }

}  // namespace gateway::cli
