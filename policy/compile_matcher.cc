#include "policy/compile_matcher.h"
#include "policy/compile_web.h"
#include "policy/web_pattern.h"
#include "policy/wording.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

constexpr std::string_view kTransfer = "transfer:";
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The values of one matcher, sets put in; each with the position it is reported at.
struct Listed {
  std::string text;
  Position at;
};

class FactCompiler {
 public:
  FactCompiler(const Ground& ground, std::string_view what, const ReadInto& into)
      : ground_(ground), what_(what), into_(into) {}

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
        return labels(entry.value, ground_);
      case FactKind::host:
      case FactKind::url_path:
        return parts(info, entry.value, ground_);
      case FactKind::addresses:
        return addresses(info, entry.value, ground_);
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
                " only actions that have it" + what_they_have());
      return false;
    }
    if (info.fact == Fact::command && ground_.widens()) {
      error("P0124", entry.at,
            "`command` is text for a shell, and matching it is no boundary: use it to deny or ask only");
      return false;
    }
    return true;
  }

  // What else could be meant.
  std::string what_they_have() const {
    std::vector<std::string> names;
    for (const auto& info : fact_table()) {
      const bool own = !info.name.starts_with("sandbox.");
      if (own && (info.actions & ground_.actions) == ground_.actions) names.push_back(quoted(info.name));
    }
    return names.empty() ? "" : ", or ask by what these have: " + joined(names);
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
                                   std::optional<Condition> (FactCompiler::*of)(const FactInfo&,
                                                                                const yaml::Node&,
                                                                                const Ground&) const,
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
    static constexpr std::array<std::string_view, 6> kWordKeys{"equals", "in",  "not",
                                                               "glob",   "re2", "re2_search"};
    if (node.kind != Kind::map) return word_list(info, node, false);
    const auto* entry = only_key(node, info.name, kWordKeys);
    if (entry == nullptr) return std::nullopt;
    if (entry->key == "not") return negated(info, entry->value, &FactCompiler::words, ground);
    const bool pattern = entry->key == "glob" || entry->key.starts_with("re2");
    if (pattern && info.kind == FactKind::word) {
      error("P0126", entry->at, quoted(info.name) + " has few values; list those you mean");
      return std::nullopt;
    }
    if (entry->key.starts_with("re2")) return expressions(info, *entry, ground);
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
      if (info.fact == Fact::method && !glob && (!is_method_name(word) || word == "CONNECT"))
        error("P0161", node.at,
              quoted(info.name) + " is written in capitals, like `GET`; never " + quoted(word));
      if (info.choices.empty() ||
          std::find(info.choices.begin(), info.choices.end(), word) != info.choices.end())
        continue;
      error("P0128", node.at,
            quoted(info.name) + " is one of " + joined({info.choices.begin(), info.choices.end()}) +
                ", never " + quoted(word) + suggestion(word, info.choices));
    }
    if (glob) return Condition{TextLike{info.fact, std::move(all)}};
    return Condition{WordIs{info.fact, std::move(all)}};
  }

  // What is found anywhere matches more than its author sees, so it may only refuse.
  std::optional<Condition> expressions(const FactInfo& info, const yaml::Entry& entry,
                                       const Ground& ground) const {
    const bool anywhere = entry.key == "re2_search";
    if (anywhere && ground.widens()) {
      error("P0126", entry.at, "`re2_search` can only deny or ask; `re2` matches the whole text");
      return std::nullopt;
    }
    const auto values = list(entry.value, entry.key);
    if (!values) return std::nullopt;
    TextMatches texts{info.fact, {}};
    const bool good = each(*values, NamedSet::Kind::re2, [&](std::string_view text, Position at) {
      // Before it is parsed: making many would take long, too.
      if (!affordable(at, [](RegexBudget& budget) { return budget.take_one(); })) return false;
      auto parsed = Regex::parse(text, anywhere ? Regex::Where::anywhere : Regex::Where::whole);
      if (!parsed) {
        error("P0122", at, parsed.error().message);
        return false;
      }
      if (!affordable(at, [&](RegexBudget& budget) { return budget.take_tables(*parsed); })) return false;
      texts.patterns.push_back(std::move(*parsed));
      return true;
    });
    if (!good) return std::nullopt;
    return Condition{std::move(texts)};
  }

  // Told once: it is the policy that is too large, not each expression from there on.
  template <class Take>
  bool affordable(Position at, Take take) const {
    auto* budget = ground_.scope->expressions;
    if (budget == nullptr) return true;
    const bool told = budget->is_spent();
    if (take(*budget)) return true;
    if (!told) {
      error("P0133", at,
            "a policy holds at most " + std::to_string(RegexBudget::kMaxExpressions) +
                " regular expressions, of " + std::to_string(RegexBudget::kMaxCells * 2 / 1024) +
                " KiB together, counted wherever one is used; join some with `|`, or shorten repetitions");
    }
    return false;
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
    const bool port = info.fact == Fact::port;
    return read_integer(node, port ? 1 : 0, port ? 65535 : kMax, quoted(info.name), into_);
  }

  std::optional<Condition> number_list(const FactInfo& info, const yaml::Node& node) const {
    if (node.items.empty()) {
      error("P0121", node.at, quoted(info.name) + " is empty and would match nothing");
      return std::nullopt;
    }
    NumberIs is{info.fact, {}};
    for (const auto& item : node.items) {
      const auto value = amount(info, item);
      if (!value) return std::nullopt;
      is.ranges.push_back(Range::of(*value));
    }
    return Condition{std::move(is)};
  }

  std::optional<Condition> number(const FactInfo& info, const yaml::Node& node, const Ground& ground) const {
    static constexpr std::array<std::string_view, 4> kNumberKeys{"equals", "min", "max", "not"};
    if (node.kind == Kind::list) return number_list(info, node);
    if (node.kind != Kind::map) {
      const auto value = amount(info, node);
      return value ? std::optional(Condition{NumberIs{info.fact, {Range::of(*value)}}}) : std::nullopt;
    }
    const Mapping mapping(node, quoted(info.name) + " of " + what_name(), kNumberKeys, into_);
    if (const auto* entry = mapping.find("not"); entry != nullptr && node.entries.size() == 1) {
      return negated(info, entry->value, &FactCompiler::number, ground);
    }
    if (const auto* entry = mapping.find("equals"); entry != nullptr && node.entries.size() == 1) {
      return number(info, entry->value, ground);
    }
    const auto *min = mapping.find("min"), *max = mapping.find("max");
    if ((min == nullptr && max == nullptr) || mapping.has("not") || mapping.has("equals")) {
      error("P0126", node.at, quoted(info.name) + " takes a value, or `min` and `max`, or `not`");
      return std::nullopt;
    }
    Range range;
    bool good = true;
    if (min != nullptr) good = (range.min = amount(info, min->value)).has_value() && good;
    if (max != nullptr) good = (range.max = amount(info, max->value)).has_value() && good;
    if (!good) return std::nullopt;
    if (range.is_empty()) {
      error("P0127", node.at, quoted(info.name) + " has a `min` above its `max` and would match nothing");
      return std::nullopt;
    }
    return Condition{NumberIs{info.fact, {range}}};
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
    if (const auto* entry = mapping.find("not"))
      return negated(info, entry->value, &FactCompiler::paths, ground);
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
              quoted(info.name) + " needs its root: write " +
                  (text.starts_with('/') || text.starts_with('~')
                       ? "the path below the transfer folder, like `transfer:reports/**`"
                       : quoted(std::string(kTransfer) + value.text) + " for a path in the transfer folder"));
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

  // Every value of a list, those of sets included, by `take`; false when one is malformed.
  template <class Take>
  bool each(const std::vector<Listed>& values, NamedSet::Kind kind, Take take) const {
    bool good = true;
    for (const auto& value : values) {
      if (!value.text.starts_with('$')) {
        good = take(std::string_view(value.text), value.at) && good;
        continue;
      }
      const auto* set = find_set(value.text, kind, *ground_.scope, value.at, into_);
      if (set == nullptr) return false;
      for (const auto& member : set->values) good = take(std::string_view(member), value.at) && good;
    }
    return good;
  }

  static Result<std::vector<PathPattern>> one(Result<PathPattern> pattern) {
    return std::move(pattern).map([](PathPattern&& parsed) { return std::vector{std::move(parsed)}; });
  }
  void warn_of_refused(std::string_view host, Position at) const {
    const auto why = refused_before_rules(host);
    if (!why) return;
    into_.diagnostics->warning(
        "P0391", into_.file, at,
        quoted(host) + " is refused before any rule (" + std::string(*why) + "), so nothing lets it through");
  }
  // Hosts and paths of URLs.
  std::optional<Condition> parts(const FactInfo& info, const yaml::Node& node, const Ground& ground) const {
    static constexpr std::array<std::string_view, 3> kPartKeys{"in", "equals", "not"};
    const yaml::Node* written = &node;
    if (node.kind == Kind::map) {
      const auto* entry = only_key(node, info.name, kPartKeys);
      if (entry == nullptr) return std::nullopt;
      if (entry->key == "not") return negated(info, entry->value, &FactCompiler::parts, ground);
      written = &entry->value;
    }
    const auto values = list(*written, info.name);
    if (!values) return std::nullopt;
    PathLike like{info.fact, {}, Dotfiles::included};
    const bool host = info.kind == FactKind::host;
    const bool good = each(*values, host ? NamedSet::Kind::hosts : NamedSet::Kind::paths,
                           [&](std::string_view text, Position at) {
                             auto parsed = host ? one(host_pattern(text)) : url_path_patterns(text);
                             if (!parsed) {
                               error("P0122", at, parsed.error().message);
                               return false;
                             }
                             std::move(parsed->begin(), parsed->end(), std::back_inserter(like.patterns));
                             if (host && ground.widens()) warn_of_refused(text, at);
                             return true;
                           });
    if (!good) return std::nullopt;
    return Condition{std::move(like)};
  }

  // A block of addresses that all have IPv4 addresses inside, as the block of those.
  static Cidr as_v4(const Cidr& block) {
    constexpr unsigned kPrefix = 96;
    const auto inner = block.first().embedded_v4();
    if (!inner || block.length() < kPrefix) return block;
    return Cidr::parse(inner->text() + "/" + std::to_string(block.length() - kPrefix)).value_or(block);
  }

  std::optional<Condition> addresses(const FactInfo& info, const yaml::Node& node,
                                     const Ground& ground) const {
    static constexpr std::array<std::string_view, 2> kAddressKeys{"in", "not"};
    const yaml::Node* written = &node;
    if (node.kind == Kind::map) {
      const auto* entry = only_key(node, info.name, kAddressKeys);
      if (entry == nullptr) return std::nullopt;
      if (entry->key == "not") return negated(info, entry->value, &FactCompiler::addresses, ground);
      written = &entry->value;
    }
    const auto values = list(*written, info.name);
    if (!values) return std::nullopt;
    AddressIn in{info.fact, {}, ground.widens() ? AddressIn::How::every : AddressIn::How::any};
    const bool good = each(*values, NamedSet::Kind::cidrs, [&](std::string_view text, Position at) {
      auto block = Cidr::parse(text);
      if (block) {
        in.blocks.push_back(as_v4(*block));
      } else {
        error("P0122", at, block.error().message);
      }
      return block.has_value();
    });
    if (!good) return std::nullopt;
    return Condition{std::move(in)};
  }

  std::optional<Condition> labels(const yaml::Node& node, const Ground& ground) const {
    static constexpr std::array<std::string_view, 2> kLabelKeys{"any", "all"};
    LabelsHave have;
    if (ground.effect == Effect::allow || ground.widens()) have.seen_from = ground.scope->tier;
    const yaml::Node* values = &node;
    if (node.kind == Kind::map) {
      const auto* entry = only_key(node, "labels", kLabelKeys);
      if (entry == nullptr) return std::nullopt;
      if (entry->key == "all") have.how = LabelsHave::How::all;
      values = &entry->value;
    }
    const auto listed = list(*values, "labels");
    if (!listed) return std::nullopt;
    for (const auto& label : *listed) {
      if (!check_label(label.text, label.at, into_)) continue;
      have.labels.push_back(label.text);
      if (auto* used = ground_.scope->used) used->labels_asked.try_emplace(label.text, into_.file, label.at);
    }
    if (have.labels.empty()) return std::nullopt;
    return Condition{std::move(have)};
  }

  const Ground& ground_;
  std::string_view what_;
  const ReadInto& into_;
};

}  // namespace

std::optional<Condition> compile_fact(const FactInfo& info, const yaml::Entry& entry, const Ground& ground,
                                      std::string_view what, const ReadInto& into) {
  return FactCompiler(ground, what, into).fact(info, entry);
}

}  // namespace policy
