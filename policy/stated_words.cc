#include "policy/stated_words.h"

#include <algorithm>
#include <utility>

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr Position kStart{1, 1};

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

yaml::Node scalar(std::string_view text, bool quoted) {
  yaml::Node node;
  node.quoted = quoted;
  node.at = kStart;
  node.text = text;
  return node;
}

bool takes_text(std::string_view key) {
  constexpr std::string_view kSettings = "settings.";
  if (key.starts_with(kSettings)) {
    const auto known = known_settings().find(key.substr(kSettings.size()));
    return known != known_settings().end() && std::holds_alternative<std::string>(known->second);
  }
  const auto* info = fact_named(key);
  if (info == nullptr) return true;
  return info->kind != FactKind::number && info->kind != FactKind::size && info->kind != FactKind::duration;
}

bool is_labels(std::string_view key) { return key == info_of(Fact::sandbox_labels).name; }

yaml::Node list_of(std::string_view text) {
  yaml::Node list;
  list.kind = Kind::list;
  list.at = kStart;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    list.items.push_back(scalar(text.substr(0, comma), true));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

// The value written as YAML, for what is no single word.
std::optional<yaml::Node> parsed(std::string_view text, const ReadInto& into) {
  const auto root = yaml::read("v: " + std::string(text) + "\n", into.file, *into.diagnostics);
  if (!root || root->kind != Kind::map || root->entries.size() != 1) return std::nullopt;
  return root->entries.front().value;
}

}  // namespace

bool is_statement(std::string_view word) {
  const auto equals = word.find('=');
  return word.starts_with('{') || (equals != std::string_view::npos && is_word(word.substr(0, equals)));
}

yaml::Node unknown_value() { return scalar("unknown", false); }

yaml::Node stated_value(std::string_view key, std::string_view text) {
  return is_labels(key) ? list_of(text) : scalar(text, takes_text(key));
}

bool state(yaml::Node& map, std::string_view key, yaml::Node value) {
  map.kind = Kind::map;
  const auto entry_of = [](yaml::Node& in, std::string_view name) -> yaml::Node* {
    for (auto& entry : in.entries) {
      if (entry.key == name) return &entry.value;
    }
    return nullptr;
  };
  const auto dot = key.find('.');
  auto* into = &map;
  if (dot != std::string_view::npos) {
    const auto name = key.substr(0, dot);
    key.remove_prefix(dot + 1);
    into = entry_of(map, name);
    if (into == nullptr) {
      into = &map.entries.emplace_back(yaml::Entry{std::string(name), kStart, yaml::Node{}}).value;
      into->kind = Kind::map;
      into->at = kStart;
    }
  }
  if (into->kind != Kind::map || entry_of(*into, key) != nullptr) return false;
  into->entries.push_back({std::string(key), kStart, std::move(value)});
  return true;
}

std::optional<yaml::Node> read_statements(std::span<const std::string> words, const ReadInto& into) {
  yaml::Node map;
  map.kind = Kind::map;
  map.at = kStart;
  const auto known = statement_keys();
  const auto add = [&](std::string_view key, yaml::Node value) {
    const auto name = key.substr(0, key.find('.'));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      into.error("P0107", kStart,
                 "there is no `" + std::string(name) + "` to state" + suggestion(name, known));
    } else if (!state(map, key, std::move(value)))
      into.error("Y0116", kStart, "`" + std::string(key) + "` is stated twice");
  };
  const auto errors = into.diagnostics->errors();
  for (const std::string_view word : words) {
    if (word.starts_with('{')) {
      auto value = parsed(word, into);
      if (!value) continue;
      for (auto& entry : value->entries) add(entry.key, std::move(entry.value));
      continue;
    }
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals), text = word.substr(std::min(equals, word.size() - 1) + 1);
    if (text == "unknown") {
      add(key, unknown_value());
    } else if (text.starts_with('[') || text.starts_with('{') || text.starts_with('"')) {
      if (auto value = parsed(text, into)) add(key, std::move(*value));
    } else {
      add(key, stated_value(key, text));
    }
  }
  if (into.diagnostics->errors() != errors) return std::nullopt;
  return map;
}

void assume_settings(StatedQuestion& question, const yaml::Node& map, const Facts& settings) {
  const auto* stated = map.find("settings");
  for (const auto& [name, value] : settings) {
    if (stated == nullptr || stated->value.find(name) == nullptr)
      question.settings.insert_or_assign(name, value);
  }
}

}  // namespace policy
