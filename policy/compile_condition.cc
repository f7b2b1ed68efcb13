#include "policy/compile_condition.h"
#include "policy/wording.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::string_view, 37> kKeys{
    "image",      "cpus",    "memory_mb", "disk_gb", "network", "command", "timeout", "host_path",
    "guest_path", "bytes",   "files",     "button",  "count",   "chars",   "keys",    "by",
    "cause",      "name",    "method",    "scheme",  "host",    "port",    "path",    "url",
    "tls",        "address", "hosts",     "ports",   "paths",   "cidrs",   "methods", "for",
    "sandbox",    "when",    "not",       "any",     "all"};

// Rules of `web:` may name the plural, as sets do.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPlurals{
    {{"hosts", "host"}, {"ports", "port"}, {"paths", "path"}, {"cidrs", "address"}, {"methods", "method"}}};

std::string_view singular(std::string_view key) {
  for (const auto& [plural, fact] : kPlurals) {
    if (plural == key) return fact;
  }
  return key;
}

class Compiler {
 public:
  Compiler(const Ground& ground, std::string_view what, const ReadInto& into)
      : ground_(ground), what_(what), into_(into) {}

  std::optional<Condition> entry(const yaml::Entry& entry) const {
    if (entry.key == "for") {
      return compile_subjects_named(entry.value, *ground_.scope,
                                    ground_.widens() ? SelfDeclared::refused : SelfDeclared::accepted, into_);
    }
    if (entry.key == "when") return settings(entry.value);
    if (entry.key == "sandbox") return sandbox(entry.value);
    if (entry.key == "not") return negation(entry);
    if (entry.key == "any" || entry.key == "all") return group(entry);
    const auto* info = fact_of_key(entry.key);
    return info == nullptr ? std::nullopt : fact(*info, entry);
  }

 private:
  void error(std::string code, Position at, std::string message) const {
    into_.error(std::move(code), at, std::move(message));
  }

  std::string what_name() const { return std::string(what_); }

  std::optional<Condition> fact(const FactInfo& info, const yaml::Entry& entry) const {
    return compile_fact(info, entry, ground_, what_, into_);
  }

  // `sandbox: label`, or a map of what is known of the sandbox.
  std::optional<Condition> sandbox(const yaml::Node& node) const {
    static constexpr std::array<std::string_view, 3> kSandboxKeys{"network", "age", "labels"};
    AllOf all;
    if (node.kind != Kind::map) {
      auto part = fact(info_of(Fact::sandbox_labels), yaml::Entry{"sandbox", node.at, node});
      if (part) all.parts.push_back(std::move(*part));
      return Condition{std::move(all)};
    }
    const Mapping mapping(node, "`sandbox` of " + what_name(), kSandboxKeys, into_);
    if (node.entries.empty()) error("P0121", node.at, "`sandbox` asks nothing");
    for (const auto& entry : node.entries) {
      const auto* info = fact_named("sandbox." + entry.key);
      if (info == nullptr) continue;
      if (auto part = fact(*info, entry)) all.parts.push_back(std::move(*part));
    }
    return Condition{std::move(all)};
  }

  std::optional<Condition> settings(const yaml::Node& node) const {
    std::vector<std::string> names;
    for (const auto& [name, value] : known_settings()) names.push_back("settings." + name);
    const std::vector<std::string_view> keys(names.begin(), names.end());
    if (node.kind != Kind::map || node.entries.empty()) {
      error("P0126", node.at, "`when` takes a map of settings, like `{ settings.web: true }`");
      return std::nullopt;
    }
    AllOf all;
    for (const auto& entry : node.entries) {
      if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
        error("P0113", entry.at, "there is no setting " + quoted(entry.key) + suggestion(entry.key, keys));
        continue;
      }
      if (auto part = setting(entry)) all.parts.push_back(std::move(*part));
    }
    return Condition{std::move(all)};
  }

  std::optional<Condition> setting(const yaml::Entry& entry) const {
    SettingIs is{entry.key, {}, {}};
    const auto& sample = known_settings().find(is.name())->second;
    const auto what = quoted(entry.key);
    if (std::holds_alternative<bool>(sample)) {
      const auto value = read_boolean(entry.value, what, into_);
      if (!value) return std::nullopt;
      is.values.emplace_back(*value);
    } else if (std::holds_alternative<std::string>(sample)) {
      const auto values = read_texts(entry.value, what, into_);
      if (!values) return std::nullopt;
      if (values->empty()) {
        error("P0121", entry.value.at, what + " is empty and would match nothing");
        return std::nullopt;
      }
      for (const auto& value : *values) is.values.emplace_back(value);
    } else if (entry.value.kind == Kind::map) {
      static constexpr std::array<std::string_view, 2> kRange{"min", "max"};
      const Mapping mapping(entry.value, what, kRange, into_);
      is.range = {mapping.integer("min", 0, kMax), mapping.integer("max", 0, kMax)};
      if (!is.range.min && !is.range.max) {
        error("P0126", entry.value.at, what + " takes a number, or `min` and `max`");
        return std::nullopt;
      }
      if (is.range.is_empty()) {
        error("P0127", entry.value.at, what + " has a `min` above its `max` and would match nothing");
        return std::nullopt;
      }
    } else {
      const auto value = read_integer(entry.value, 0, kMax, what, into_);
      if (!value) return std::nullopt;
      is.values.emplace_back(*value);
    }
    return Condition{std::move(is)};
  }

  std::optional<Condition> negation(const yaml::Entry& entry) const {
    const Mapping mapping(entry.value, "`not` of " + what_name(), kKeys, into_);
    if (entry.value.entries.empty()) {
      error("P0121", entry.at, "`not` asks nothing");
      return std::nullopt;
    }
    NotThis negation;
    negation.part.push_back(compile_conditions(entry.value, ground_.inside_not(), what_, into_));
    return Condition{std::move(negation)};
  }

  std::optional<Condition> group(const yaml::Entry& entry) const {
    if (entry.value.kind != Kind::list || entry.value.items.empty()) {
      error("P0126", entry.at, quoted(entry.key) + " takes a list of maps, each of which asks something");
      return std::nullopt;
    }
    std::vector<Condition> parts;
    for (const auto& item : entry.value.items) {
      const Mapping mapping(item, quoted(entry.key) + " of " + what_name(), kKeys, into_);
      if (item.entries.empty()) {
        error("P0121", item.at, "an item of " + quoted(entry.key) + " asks nothing");
        continue;
      }
      parts.push_back(compile_conditions(item, ground_, what_, into_));
    }
    if (entry.key == "any") return Condition{AnyOf{std::move(parts)}};
    return Condition{AllOf{std::move(parts)}};
  }

  const Ground& ground_;
  std::string_view what_;
  const ReadInto& into_;
};

}  // namespace

std::span<const std::string_view> condition_keys() { return kKeys; }

const FactInfo* fact_of_key(std::string_view key) { return fact_named(singular(key)); }

Condition compile_conditions(const yaml::Node& map, const Ground& ground, std::string_view what,
                             const ReadInto& into) {
  const Compiler compiler(ground, what, into);
  AllOf all;
  for (const auto& entry : map.entries) {
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end()) continue;
    if (auto part = compiler.entry(entry)) all.parts.push_back(std::move(*part));
  }
  return Condition{std::move(all)};
}

}  // namespace policy
