#include "policy/compile_condition.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr std::string_view kTransfer = "transfer:";
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::string_view, 20> kKeys{"network", "command", "timeout", "host_path", "guest_path",
                                                 "bytes",   "files",   "button",  "count",     "chars",
                                                 "keys",    "by",      "cause",   "name",      "for",
                                                 "sandbox", "when",    "not",     "any",       "all"};

std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

// The values of one matcher, sets put in; each with the position it is reported at.
struct Listed {
  std::string text;
  Position at;
};

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
    const auto* info = fact_named(entry.key);
    return info == nullptr ? std::nullopt : fact(*info, entry);
  }

  // The value of a matcher that may be bare or a map with exactly one of several words.
  std::optional<Condition> fact(const FactInfo& info, const yaml::Entry& entry) const {
    if (!available(info, entry)) return std::nullopt;
    switch (info.kind) {
      case FactKind::word:
      case FactKind::text:
        return words(info, entry.value, ground_);
      case FactKind::number:
      case FactKind::size:
      case FactKind::duration:
        return number(info, entry.value, ground_);
      case FactKind::host_path:
      case FactKind::guest_path:
        return paths(info, entry.value, ground_);
      case FactKind::labels:
        return labels(entry.value);
    }
    return std::nullopt;
  }

 private:
  void error(std::string code, Position at, std::string message) const {
    into_.error(std::move(code), at, std::move(message));
  }

  // Every action the rule names must have the fact: where one has not, a deny rule would always speak and an
  // allow rule never, and neither is what its author meant.
  bool available(const FactInfo& info, const yaml::Entry& entry) const {
    std::string lacking;
    for (const auto& word : action_words()) {
      if (word.name == "any" || (word.actions & ground_.actions) != word.actions) continue;
      if ((word.actions & info.actions).none()) lacking += (lacking.empty() ? "" : ", ") + quoted(word.name);
    }
    if (!lacking.empty()) {
      error("P0114", entry.at,
            quoted(entry.key) + " means nothing for " + lacking + "; give " + what_name() +
                " only actions that have it");
      return false;
    }
    if (info.fact == Fact::command && ground_.widens()) {
      error("P0124", entry.at,
            "`command` is text for a shell, and matching it is no boundary: use it to deny or ask only");
      return false;
    }
    return true;
  }

  std::string what_name() const { return std::string(what_); }

  std::optional<std::vector<Listed>> list(const yaml::Node& node, std::string_view key) const {
    std::vector<Listed> values;
    const auto one = [&](const yaml::Node& item) {
      auto text = read_text(item, quoted(key), into_);
      if (text) values.push_back({std::move(*text), item.at});
      return text.has_value();
    };
    if (node.kind != Kind::list) return one(node) ? std::optional(std::move(values)) : std::nullopt;
    if (node.items.empty()) {
      error("P0121", node.at, quoted(key) + " is empty and would match nothing");
      return std::nullopt;
    }
    bool good = true;
    for (const auto& item : node.items) good = one(item) && good;
    return good ? std::optional(std::move(values)) : std::nullopt;
  }

  std::optional<Condition> negated(const FactInfo& info, const yaml::Node& node,
                                   std::optional<Condition> (Compiler::*of)(const FactInfo&,
                                                                            const yaml::Node&, const Ground&)
                                       const,
                                   const Ground& ground) const {
    auto part = (this->*of)(info, node, ground.inside_not());
    if (!part) return std::nullopt;
    NotThis negation;
    negation.part.push_back(std::move(*part));
    return Condition{std::move(negation)};
  }

  // Exactly one of `keys` in a map; null with a report otherwise.
  const yaml::Entry* only_key(const yaml::Node& node, std::string_view key,
                              std::span<const std::string_view> keys) const {
    const Mapping mapping(node, quoted(key) + " of " + what_name(), keys, into_);
    if (node.entries.size() == 1 &&
        std::find(keys.begin(), keys.end(), node.entries.front().key) != keys.end()) {
      return &node.entries.front();
    }
    if (node.entries.size() != 1) error("P0126", node.at, quoted(key) + " takes exactly one way of matching");
    return nullptr;
  }

  std::optional<Condition> words(const FactInfo& info, const yaml::Node& node, const Ground& ground) const {
    static constexpr std::array<std::string_view, 4> kWordKeys{"equals", "in", "not", "glob"};
    if (node.kind != Kind::map) return word_list(info, node, false);
    const auto* entry = only_key(node, info.name, kWordKeys);
    if (entry == nullptr) return std::nullopt;
    if (entry->key == "not") return negated(info, entry->value, &Compiler::words, ground);
    if (entry->key == "glob" && info.kind == FactKind::word) {
      error("P0126", entry->at, quoted(info.name) + " has few values; list those you mean");
      return std::nullopt;
    }
    return word_list(info, entry->value, entry->key == "glob");
  }

  std::optional<Condition> word_list(const FactInfo& info, const yaml::Node& node, bool glob) const {
    const auto values = list(node, info.name);
    if (!values) return std::nullopt;
    std::vector<std::string> all;
    for (const auto& value : *values) {
      if (!value.text.starts_with('$')) {
        all.push_back(value.text);
      } else if (const auto* set =
                     find_set(value.text, NamedSet::Kind::words, *ground_.scope, value.at, into_)) {
        all.insert(all.end(), set->values.begin(), set->values.end());
      }
    }
    for (const auto& word : all) {
      if (info.choices.empty() ||
          std::find(info.choices.begin(), info.choices.end(), word) != info.choices.end())
        continue;
      error("P0128", node.at,
            quoted(info.name) + " is never " + quoted(word) + suggestion(word, info.choices));
    }
    if (glob) return Condition{TextLike{info.fact, std::move(all)}};
    return Condition{WordIs{info.fact, std::move(all)}};
  }

  std::optional<std::int64_t> amount(const FactInfo& info, const yaml::Node& node) const {
    if (info.kind == FactKind::size) {
      const auto size = read_size(node, quoted(info.name), into_);
      return size ? std::optional(static_cast<std::int64_t>(*size)) : std::nullopt;
    }
    if (info.kind == FactKind::duration) {
      const auto time = read_duration(node, quoted(info.name), into_);
      return time ? std::optional<std::int64_t>(time->count()) : std::nullopt;
    }
    return read_integer(node, 0, kMax, quoted(info.name), into_);
  }

  std::optional<Condition> number(const FactInfo& info, const yaml::Node& node, const Ground& ground) const {
    static constexpr std::array<std::string_view, 4> kNumberKeys{"equals", "min", "max", "not"};
    if (node.kind != Kind::map) {
      const auto value = amount(info, node);
      return value ? std::optional(Condition{NumberIs{info.fact, value, value}}) : std::nullopt;
    }
    const Mapping mapping(node, quoted(info.name) + " of " + what_name(), kNumberKeys, into_);
    if (const auto* entry = mapping.find("not"); entry != nullptr && node.entries.size() == 1) {
      return negated(info, entry->value, &Compiler::number, ground);
    }
    if (const auto* entry = mapping.find("equals"); entry != nullptr && node.entries.size() == 1) {
      return number(info, entry->value, ground);
    }
    const auto *min = mapping.find("min"), *max = mapping.find("max");
    if ((min == nullptr && max == nullptr) || mapping.has("not") || mapping.has("equals")) {
      error("P0126", node.at, quoted(info.name) + " takes a value, or `min` and `max`, or `not`");
      return std::nullopt;
    }
    NumberIs is{info.fact, std::nullopt, std::nullopt};
    bool good = true;
    if (min != nullptr) good = (is.min = amount(info, min->value)).has_value() && good;
    if (max != nullptr) good = (is.max = amount(info, max->value)).has_value() && good;
    if (!good) return std::nullopt;
    if (is.min && is.max && *is.min > *is.max) {
      error("P0127", node.at, quoted(info.name) + " has a `min` above its `max` and would match nothing");
      return std::nullopt;
    }
    return Condition{is};
  }

  std::optional<Condition> paths(const FactInfo& info, const yaml::Node& node, const Ground& ground) const {
    static constexpr std::array<std::string_view, 3> kPathKeys{"path", "dotfiles", "not"};
    auto dotfiles = ground.widens() ? Dotfiles::only_if_written : Dotfiles::included;
    if (node.kind != Kind::map) return path_list(info, node, dotfiles);
    const Mapping mapping(node, quoted(info.name) + " of " + what_name(), kPathKeys, into_);
    if (mapping.has("path") == mapping.has("not") || (mapping.has("not") && mapping.has("dotfiles"))) {
      error("P0126", node.at, quoted(info.name) + " takes `path`, with `dotfiles` if you like, or `not`");
      return std::nullopt;
    }
    if (const auto* entry = mapping.find("not")) return negated(info, entry->value, &Compiler::paths, ground);
    if (mapping.has("dotfiles")) {
      const auto wanted = mapping.boolean("dotfiles");
      if (!wanted) return std::nullopt;
      if (!*wanted && !ground.widens()) {
        error("P0126", mapping.find("dotfiles")->at,
              "patterns that refuse always match names with a leading dot; remove `dotfiles`");
        return std::nullopt;
      }
      if (*wanted) dotfiles = Dotfiles::included;
    }
    return path_list(info, mapping.find("path")->value, dotfiles);
  }

  std::optional<Condition> path_list(const FactInfo& info, const yaml::Node& node, Dotfiles dotfiles) const {
    const auto values = list(node, info.name);
    if (!values) return std::nullopt;
    PathLike like{info.fact, {}, dotfiles};
    bool good = true;
    for (const auto& value : *values) good = path(info, value, like.patterns) && good;
    if (!good) return std::nullopt;
    return Condition{std::move(like)};
  }

  // One pattern or set of patterns, with the root it is written below.
  bool path(const FactInfo& info, const Listed& value, std::vector<PathPattern>& patterns) const {
    std::string_view text = value.text;
    if (info.kind == FactKind::host_path) {
      if (!text.starts_with(kTransfer)) {
        error("P0123", value.at,
              quoted(info.name) + " needs its root: write `transfer:" + value.text +
                  "` for a path in the transfer folder");
        return false;
      }
      text.remove_prefix(kTransfer.size());
    }
    if (!text.starts_with('$')) return pattern(info, text, value.at, patterns);
    const auto* set = find_set(text, NamedSet::Kind::paths, *ground_.scope, value.at, into_);
    if (set == nullptr) return false;
    bool good = true;
    for (const auto& member : set->values) good = pattern(info, member, value.at, patterns) && good;
    return good;
  }

  bool pattern(const FactInfo& info, std::string_view text, Position at,
               std::vector<PathPattern>& patterns) const {
    if (info.kind == FactKind::guest_path) {
      if (!text.starts_with('/') && !text.starts_with("**")) {
        error("P0123", at,
              quoted(info.name) + " is a full path: " + quoted(text) + " must begin with `/` or `**`");
        return false;
      }
      if (text.starts_with('/')) text.remove_prefix(1);
    } else if (text.starts_with('/')) {
      error("P0123", at,
            quoted(info.name) + " lies below its root: " + quoted(text) + " may not begin with `/`");
      return false;
    }
    auto parsed = PathPattern::parse(text);
    if (!parsed) {
      error("P0122", at, parsed.error().message);
      return false;
    }
    patterns.push_back(std::move(*parsed));
    return true;
  }

  std::optional<Condition> labels(const yaml::Node& node) const {
    static constexpr std::array<std::string_view, 2> kLabelKeys{"any", "all"};
    LabelsHave have;
    const yaml::Node* values = &node;
    if (node.kind == Kind::map) {
      const auto* entry = only_key(node, "labels", kLabelKeys);
      if (entry == nullptr) return std::nullopt;
      if (entry->key == "all") have.how = LabelsHave::How::all;
      values = &entry->value;
    }
    const auto listed = list(*values, "labels");
    if (!listed) return std::nullopt;
    for (const auto& label : *listed) have.labels.push_back(label.text);
    return Condition{std::move(have)};
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
    const auto name = entry.key.substr(std::string_view("settings.").size());
    SettingIs is{name, entry.key, {}, {}, {}};
    const auto& sample = known_settings().find(name)->second;
    const auto what = quoted(entry.key);
    if (std::holds_alternative<bool>(sample)) {
      const auto value = read_boolean(entry.value, what, into_);
      if (!value) return std::nullopt;
      is.values.emplace_back(*value);
    } else if (std::holds_alternative<std::string>(sample)) {
      const auto values = list(entry.value, entry.key);
      if (!values) return std::nullopt;
      for (const auto& value : *values) is.values.emplace_back(value.text);
    } else if (entry.value.kind == Kind::map) {
      static constexpr std::array<std::string_view, 2> kRange{"min", "max"};
      const Mapping mapping(entry.value, what, kRange, into_);
      is.min = mapping.integer("min", 0, kMax);
      is.max = mapping.integer("max", 0, kMax);
      if (!is.min && !is.max) {
        error("P0126", entry.value.at, what + " takes a number, or `min` and `max`");
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
