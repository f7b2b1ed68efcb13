#include <chrono>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/policy.h"
#include "gateway/cli/printable.h"

namespace gateway::cli {
namespace {

using Json = nlohmann::json;

std::string text(const Json& of, const char* key) { return of.value(key, std::string()); }

void put(const std::string& line) { std::printf("%s\n", printable_line(line).c_str()); }

std::string counts(const Json& of) {
  const auto number = [&](const char* key) { return std::to_string(of.value(key, std::uint64_t{0})); };
  std::string line = number("evaluated") + " evaluated, " + number("matched") + " matched, " +
                     number("changed") + " would have changed, since " + text(of, "since");
  if (of.value("never_evaluated", false)) line += "; never evaluated in 24 h";
  return line;
}

void show(const Json& status) {
  put("policy " + text(status, "policy") + ", digest " + text(status, "policy_digest"));
  put("counted since " + text(status, "since"));
  const auto rules = status.value("shadow", Json::array());
  if (rules.empty()) put("no shadow rules");
  for (const auto& rule : rules) {
    put("shadow " + text(rule, "effect") + " rule `" + text(rule, "rule") + "` of tier " +
        text(rule, "tier") + " at " + text(rule, "src") + ": " + counts(rule));
  }
  if (status.contains("shadow_policy")) {
    const auto& candidate = status["shadow_policy"];
    put("shadow policy " + text(candidate, "name") + ", digest " + text(candidate, "digest") + ": " +
        counts(candidate));
  } else {
    put("no shadow policy");
  }
  const auto waivers = status.value("waivers", Json::array());
  if (waivers.empty()) put("no waivers");
  for (const auto& waiver : waivers) {
    put("waiver `" + text(waiver, "waiver") + "` of tier " + text(waiver, "tier") + " at " +
        text(waiver, "src") + " lifts `" + text(waiver, "lifts") + "` until " + text(waiver, "until") + " (" +
        text(waiver, "state") + "): " + text(waiver, "reason"));
  }
  for (const auto& problem : status.value("problems", Json::array())) {
    if (problem.is_string()) put("problem: " + problem.get<std::string>());
  }
}

}  // namespace

int policy_status(const Sources& sources, ReportForm form) {
  const auto answer = ask_owner(sources, Hello::Kind::policy_status, std::chrono::seconds(10));
  if (!answer) return complain(answer.error());
  if (form == ReportForm::json) {
    std::printf("%s\n", answer->dump().c_str());
    return 0;
  }
  try {
    show(*answer);
  } catch (const Json::exception&) {
    return complain(policy::Error{"owner.answer", "the owner's answer makes no sense"});
  }
  return 0;
}

}  // namespace gateway::cli
