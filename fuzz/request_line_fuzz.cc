// Lines of `sallyport check request`: each gets one line of JSON with a verdict, the same line gets the same
// verdict, and a line that is no request is never allowed.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/cli/request_line.h"
#include "property.h"

namespace {

const policy::Anatomy& known() {
  static const policy::Studied studied = [] {
    const std::vector<policy::Source> sources{
        {"default.yaml", std::string(policy::default_policy_text()), {}}};
    return policy::study(sources);
  }();
  fuzz::require(studied.anatomy != nullptr);
  return *studied.anatomy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto line = fuzz::text_of(bytes, size);
  const auto answer = gateway::cli::answer_request(known(), policy::known_settings(), line);
  fuzz::require(answer == gateway::cli::answer_request(known(), policy::known_settings(), line));
  fuzz::require(answer.find('\n') == std::string::npos);
  const auto said = nlohmann::json::parse(answer, nullptr, false);
  fuzz::require(said.is_object());
  const auto effect = said.value("effect", "");
  fuzz::require(effect == "allow" || effect == "ask" || effect == "deny");
  fuzz::require(!said.value("code", "").empty());
  if (said.value("code", "") == "request.invalid")
    fuzz::require(effect == "deny" && !said.value("reason", "").empty());
  const auto read = nlohmann::json::parse(line, nullptr, false);
  if (!read.is_object()) fuzz::require(effect == "deny");
  // `network nat` is refused to everybody by the default policy.
  if (read.is_object() && effect == "allow" &&
      read.value("/action"_json_pointer, nlohmann::json()) == "create")
    fuzz::require(read.value("/args/network"_json_pointer, nlohmann::json()) != "nat");
  return 0;
}
