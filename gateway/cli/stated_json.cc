#include "gateway/cli/stated_json.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "policy/stated_words.h"

namespace gateway::cli {
namespace {

using nlohmann::json;
using policy::yaml::Node;

tl::unexpected<policy::Error> invalid(std::string message) {
  return policy::fail("request.invalid", std::move(message));
}

std::string in_ticks(std::string_view text) { return "`" + std::string(text) + "`"; }

Result<Node> value_of(std::string_view key, const json& value) {
  auto node = policy::unknown_value();
  if (value.is_null()) return node;
  if (value.is_string()) return policy::stated_value(key, value.get_ref<const std::string&>());
  if (value.is_boolean()) {
    node.text = value.get<bool>() ? "true" : "false";
    return node;
  }
  if (value.is_number_integer()) {
    const auto* info = policy::fact_named(key);
    node.text = value.dump();
    if (info != nullptr && info->kind == policy::FactKind::size) node.text += "B";
    if (info != nullptr && info->kind == policy::FactKind::duration) node.text += "s";
    return node;
  }
  if (value.is_array()) {
    Node list;
    list.kind = Node::Kind::list;
    for (const auto& item : value) {
      if (!item.is_string()) return invalid(in_ticks(key) + " must be a list of texts");
      node.quoted = true;
      node.text = item.get<std::string>();
      list.items.push_back(node);
    }
    return list;
  }
  return invalid(in_ticks(key) + " must be text, a whole number, true, false, null or a list of texts");
}

}  // namespace

Result<void> state_json(Node& statement, std::string_view key, const json& value) {
  const auto known = policy::statement_keys();
  const auto name = key.substr(0, key.find('.'));
  if (std::find(known.begin(), known.end(), name) == known.end())
    return invalid("there is no " + in_ticks(name) + " to state" + policy::suggestion(name, known));
  auto node = value_of(key, value);
  if (!node) return tl::unexpected(node.error());
  if (!policy::state(statement, key, std::move(*node))) return invalid(in_ticks(key) + " is stated twice");
  return {};
}

Result<void> state_json_object(Node& statement, const json& object) {
  for (const auto& [key, value] : object.items()) {
    if ((key == "sandbox" || key == "settings") && value.is_object()) {
      for (const auto& [name, inner] : value.items()) {
        std::string path = key;
        path += "." + name;
        if (auto stated = state_json(statement, path, inner); !stated) return stated;
      }
    } else if (auto stated = state_json(statement, key, value); !stated) {
      return stated;
    }
  }
  return {};
}

}  // namespace gateway::cli
