#include "gateway/owner/greeting.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/mcp/json_reader.h"

namespace gateway {
namespace {

constexpr std::array<std::pair<Hello::Kind, std::string_view>, 12> kKinds{{
    {Hello::Kind::serve, "serve"},
    {Hello::Kind::cli, "cli"},
    {Hello::Kind::status, "status"},
    {Hello::Kind::policy_status, "policy_status"},
    {Hello::Kind::kill_switch_on, "kill_switch_on"},
    {Hello::Kind::kill_switch_off, "kill_switch_off"},
    {Hello::Kind::image_build, "image_build"},
    {Hello::Kind::image_remove, "image_remove"},
    {Hello::Kind::questions, "questions"},
    {Hello::Kind::answer_allow, "answer_allow"},
    {Hello::Kind::answer_deny, "answer_deny"},
    {Hello::Kind::stop, "stop"},
}};

tl::unexpected<policy::Error> malformed() {
  return policy::fail("owner.greeting",
                      "the owner did not understand the greeting; both must be the same version");
}

}  // namespace

std::string_view spelling(Hello::Kind kind) {
  for (const auto& [value, text] : kKinds) {
    if (value == kind) return text;
  }
  return "";
}

std::string Hello::encode() const {
  nlohmann::json json{{"version", version}, {"settings", settings}, {"kind", spelling(kind)}};
  if (!name.empty()) json["name"] = name;
  if (!options.empty()) json["options"] = options;
  return json.dump();
}

Result<Hello> Hello::parse(std::string_view line) {
  const auto read = mcp::read_json(line, {.bytes = 4096, .depth = 4, .values = 100});
  if (!read.value || !read.value->is_object()) return malformed();
  Hello hello;
  std::string kind;
  for (const auto& [key, value] : read.value->items()) {
    if (!value.is_string()) return malformed();
    auto text = value.get<std::string>();
    if (key == "kind")
      kind = std::move(text);
    else if (key == "version")
      hello.version = std::move(text);
    else if (key == "settings")
      hello.settings = std::move(text);
    else if (key == "name")
      hello.name = std::move(text);
    else if (key == "options")
      hello.options = std::move(text);
    else
      return malformed();
  }
  for (const auto& [value, text] : kKinds) {
    if (text == kind) {
      hello.kind = value;
      return hello;
    }
  }
  return malformed();
}

}  // namespace gateway
