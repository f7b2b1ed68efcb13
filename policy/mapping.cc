#include "policy/mapping.h"

#include <algorithm>

#include "policy/units.h"
#include "policy/wording.h"

namespace policy {
namespace {

std::string listed(std::span<const std::string_view> words) {
  std::string out;
  for (const auto word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

std::string_view noun(yaml::Node::Kind kind) {
  switch (kind) {
    case yaml::Node::Kind::scalar:
      return "a single value";
    case yaml::Node::Kind::list:
      return "a list";
    case yaml::Node::Kind::map:
      return "a map";
  }
  return {};
}

// Reports and answers false when the node is no scalar.
bool scalar(const yaml::Node& node, std::string_view what, std::string_view wanted, const ReadInto& into) {
  if (node.kind == yaml::Node::Kind::scalar) return true;
  into.error("S0101", node.at,
             std::string(what) + " must be " + std::string(wanted) + ", not " + std::string(noun(node.kind)));
  return false;
}

}  // namespace

std::optional<std::string> read_text(const yaml::Node& node, std::string_view what, const ReadInto& into) {
  if (!scalar(node, what, "text", into)) return std::nullopt;
  if (!node.quoted && (node.text == "true" || node.text == "false")) {
    into.error("S0102", node.at,
               std::string(what) + " must be text; quote " + quoted(node.text) + " if you mean the word");
    return std::nullopt;
  }
  return node.text;
}

std::optional<bool> read_boolean(const yaml::Node& node, std::string_view what, const ReadInto& into) {
  if (!scalar(node, what, "`true` or `false`", into)) return std::nullopt;
  if (!node.quoted && node.text == "true") return true;
  if (!node.quoted && node.text == "false") return false;
  into.error("S0103", node.at,
             std::string(what) + " must be `true` or `false`, without quotes, not " + quoted(node.text));
  return std::nullopt;
}

std::optional<std::int64_t> read_integer(const yaml::Node& node, std::int64_t min, std::int64_t max,
                                         std::string_view what, const ReadInto& into) {
  if (!scalar(node, what, "a number", into)) return std::nullopt;
  const auto value = node.quoted ? std::nullopt : parse_integer(node.text);
  if (!value) {
    into.error(
        "S0104", node.at,
        std::string(what) + " must be a whole decimal number without quotes, not " + quoted(node.text));
    return std::nullopt;
  }
  if (*value < min || *value > max) {
    into.error("S0105", node.at,
               std::string(what) + " must be from " + std::to_string(min) + " to " + std::to_string(max) +
                   ", not " + quoted(node.text));
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> read_size(const yaml::Node& node, std::string_view what, const ReadInto& into) {
  if (!scalar(node, what, "a size", into)) return std::nullopt;
  const auto value = node.quoted ? std::nullopt : parse_size(node.text);
  if (!value) {
    into.error("S0106", node.at,
               std::string(what) + " must be a size with its unit, like `200MiB`, not " + quoted(node.text));
  }
  return value;
}

std::optional<std::chrono::seconds> read_duration(const yaml::Node& node, std::string_view what,
                                                  const ReadInto& into) {
  if (!scalar(node, what, "a duration", into)) return std::nullopt;
  const auto value = node.quoted ? std::nullopt : parse_duration(node.text);
  if (!value) {
    into.error("S0107", node.at,
               std::string(what) + " must be a duration with its unit, like `90s` or `10m`, not " +
                   quoted(node.text));
  }
  return value;
}

std::optional<std::chrono::sys_days> read_date(const yaml::Node& node, std::string_view what,
                                               const ReadInto& into) {
  if (!scalar(node, what, "a date", into)) return std::nullopt;
  const auto value = parse_date(node.text);
  if (!value) {
    into.error("S0110", node.at,
               std::string(what) + " must be a day like `2027-03-01`, not " + quoted(node.text));
  }
  return value;
}

std::optional<std::vector<std::string>> read_texts(const yaml::Node& node, std::string_view what,
                                                   const ReadInto& into) {
  if (node.kind != yaml::Node::Kind::list) {
    auto one = read_text(node, what, into);
    if (!one) return std::nullopt;
    return std::vector<std::string>{std::move(*one)};
  }
  std::vector<std::string> texts;
  texts.reserve(node.items.size());
  bool good = true;
  for (const auto& item : node.items) {
    auto text = read_text(item, "an item of " + std::string(what), into);
    good = good && text.has_value();
    if (text) texts.push_back(std::move(*text));
  }
  if (!good) return std::nullopt;
  return texts;
}

std::optional<std::size_t> read_choice(const yaml::Node& node, std::span<const std::string_view> choices,
                                       std::string_view what, const ReadInto& into) {
  const auto text = read_text(node, what, into);
  if (!text) return std::nullopt;
  const auto at = std::find(choices.begin(), choices.end(), *text);
  if (at != choices.end()) return static_cast<std::size_t>(at - choices.begin());
  into.error("S0108", node.at,
             std::string(what) + " must be one of " + listed(choices) + ", not " + quoted(*text) +
                 suggestion(*text, choices));
  return std::nullopt;
}

Mapping::Mapping(const yaml::Node& node, std::string what, std::span<const std::string_view> known,
                 ReadInto into)
    : node_(node), what_(std::move(what)), into_(into) {
  if (node.kind != yaml::Node::Kind::map) {
    into_.error("S0101", node.at, what_ + " must be a map, not " + std::string(noun(node.kind)));
    return;
  }
  for (const auto& entry : node.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    into_.error("P0107", entry.at,
                "unknown key " + quoted(entry.key) + " in " + what_ + suggestion(entry.key, known));
  }
}

const yaml::Entry* Mapping::find(std::string_view key) const { return node_.find(key); }

const yaml::Entry* Mapping::require(std::string_view key) const {
  const auto* entry = find(key);
  if (entry == nullptr && node_.kind == yaml::Node::Kind::map) {
    into_.error("P0108", node_.at, what_ + " needs the key " + quoted(key));
  }
  return entry;
}

namespace {
std::string key_of(std::string_view key, const std::string& what) { return quoted(key) + " in " + what; }
}  // namespace

std::optional<std::string> Mapping::text(std::string_view key) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_text(entry->value, key_of(key, what_), into_);
}

std::optional<bool> Mapping::boolean(std::string_view key) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_boolean(entry->value, key_of(key, what_), into_);
}

std::optional<std::int64_t> Mapping::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_integer(entry->value, min, max, key_of(key, what_), into_);
}

std::optional<std::uint64_t> Mapping::size(std::string_view key) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_size(entry->value, key_of(key, what_), into_);
}

std::optional<std::chrono::seconds> Mapping::duration(std::string_view key) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_duration(entry->value, key_of(key, what_), into_);
}

std::optional<std::vector<std::string>> Mapping::texts(std::string_view key) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_texts(entry->value, key_of(key, what_), into_);
}

std::optional<std::size_t> Mapping::choice(std::string_view key,
                                           std::span<const std::string_view> choices) const {
  const auto* entry = find(key);
  return entry == nullptr ? std::nullopt : read_choice(entry->value, choices, key_of(key, what_), into_);
}

bool is_section(const yaml::Node& section, std::string_view name, std::string_view of, const ReadInto& into) {
  if (section.kind == yaml::Node::Kind::map) return true;
  into.error("S0101", section.at, quoted(name) + " must be a map of " + std::string(of));
  return false;
}

}  // namespace policy
