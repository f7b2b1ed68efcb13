#include "policy/candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "policy/stated_words.h"
#include "policy/units.h"
#include "policy/web_pattern.h"
#include "policy/yaml_flow.h"

namespace policy {
namespace {

using Kind = yaml::Node::Kind;

yaml::Node bare(std::string text) {
  auto node = unknown_value();
  node.text = std::move(text);
  return node;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// Texts that a pattern stands for.
std::vector<std::string> instances(const std::string& pattern) {
  std::vector<std::string> all;
  for (const auto* run : {"", "x"}) {
    auto text = pattern;
    replace_all(text, "*", run);
    replace_all(text, "?", "x");
    all.push_back(std::move(text));
  }
  return all;
}

// Paths that a pattern stands for: without folders for `**`, with one, and with names that begin with a dot.
std::vector<std::string> path_instances(const std::string& pattern) {
  std::vector<std::string> all;
  for (const auto* deep : {"", "x", ".x", "x/x"}) {
    auto text = pattern;
    if (*deep == '\0') {
      replace_all(text, "**/", "");
      replace_all(text, "/**", "");
    }
    replace_all(text, "**", *deep == '\0' ? "x" : deep);
    replace_all(text, "*", *deep == '.' ? ".x" : "x");
    replace_all(text, "?", "x");
    if (!text.empty()) all.push_back(std::move(text));
  }
  return all;
}

// Public ones, for others are refused before any rule.
const std::string kSite = "example.org", kAddress = "198.41.0.4";

class Collector {
 public:
  explicit Collector(Pools& pools) : pools_(pools) {}

  void take(const Condition& condition) { std::visit(*this, condition.is); }

  void operator()(const AllOf& all) { each(all.parts); }
  void operator()(const AnyOf& any) { each(any.parts); }
  void operator()(const NotThis& negation) { each(negation.part); }
  void operator()(const SubjectIs& is) { add("as", stated_value("as", is.subject->name)); }
  void operator()(const SettingIs& is) {
    for (const auto& value : is.values) {
      if (const auto* flag = std::get_if<bool>(&value)) {
        add(is.fact, bare("true"));
        add(is.fact, bare(*flag ? "true" : "false"));
        add(is.fact, bare("false"));
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        around(*number, [&](std::int64_t n) { add(is.fact, bare(std::to_string(n))); });
      } else {
        add(is.fact, stated_value(is.fact, std::get<std::string>(value)));
        add(is.fact, stated_value(is.fact, "other"));
      }
    }
    for (const auto bound : {is.range.min, is.range.max}) {
      if (bound) around(*bound, [&](std::int64_t n) { add(is.fact, bare(std::to_string(n))); });
    }
  }
  void operator()(const WordIs& is) {
    const auto& info = info_of(is.fact);
    for (const auto& word : is.words) text(info, word);
    for (const auto choice : info.choices) text(info, std::string(choice));
    if (info.choices.empty()) text(info, "other");
  }
  void operator()(const TextLike& like) {
    const auto& info = info_of(like.fact);
    for (const auto& pattern : like.patterns) {
      for (auto& one : instances(pattern)) text(info, one);
    }
    text(info, "other");
  }
  void operator()(const NumberIs& is) {
    for (const auto& range : is.ranges) {
      for (const auto bound : {range.min, range.max}) {
        if (bound) number(info_of(is.fact), *bound);
      }
    }
  }
  void operator()(const TextMatches& texts) { text(info_of(texts.fact), "other"); }
  void operator()(const AddressIn& in) {
    const auto& info = info_of(in.fact);
    for (const auto& block : in.blocks) {
      text(info, block.first().text());
      text(info, block.last().text());
    }
    text(info, kAddress);
  }
  void operator()(const PathLike& like) {
    const auto& info = info_of(like.fact);
    if (info.kind == FactKind::host) {
      for (const auto& pattern : like.patterns) {
        auto host = spell_host(pattern);
        if (host.starts_with("*.")) host.replace(0, 1, "x");
        text(info, host == "any" ? kSite : host);
      }
      text(info, "other." + kSite);
      return;
    }
    if (info.kind == FactKind::url_path) {
      for (const auto& pattern : like.patterns) {
        for (const auto& one : path_instances(pattern.text())) text(info, "/" + one);
      }
      text(info, "/other");
      return;
    }
    const bool guest = info.kind == FactKind::guest_path;
    for (const auto& pattern : like.patterns) {
      for (const auto& one : path_instances(pattern.text())) text(info, guest ? "/" + one : one);
    }
    text(info, guest ? "/other" : "other");
  }
  void operator()(const LabelsHave& have) {
    yaml::Node all;
    all.kind = Kind::list;
    for (const auto& label : have.labels) {
      const auto one = stated_value("sandbox.labels", label);
      add("sandbox.labels", one);
      if (!one.items.empty()) all.items.push_back(one.items.front());
    }
    add("sandbox.labels", all);
  }

  void text(const FactInfo& info, const std::string& value) {
    add(std::string(info.name), stated_value(info.name, value));
  }
  void add(const std::string& key, yaml::Node value) {
    if (known_.emplace(key, yaml::flow(value)).second) pools_[key].push_back(std::move(value));
  }

 private:
  void each(const std::vector<Condition>& parts) {
    for (const auto& part : parts) take(part);
  }
  void number(const FactInfo& info, std::int64_t bound) {
    around(bound, [&](std::int64_t n) {
      const auto spelt = info.kind == FactKind::size       ? spell_size(static_cast<std::uint64_t>(n))
                         : info.kind == FactKind::duration ? spell_duration(std::chrono::seconds(n))
                                                           : std::to_string(n);
      add(std::string(info.name), bare(spelt));
    });
  }
  template <class Add>
  static void around(std::int64_t bound, Add add_one) {
    for (const auto n : {bound - 1, bound, bound + 1}) {
      // Beyond what a statement can say there is nothing to try.
      if (n >= 0 && n < (std::int64_t{1} << 53)) add_one(n);
    }
  }

  Pools& pools_;
  std::set<std::pair<std::string, std::string>> known_;
};

}  // namespace

Pools pools_for(const ActionWord& action, const std::vector<const Anatomy*>& policies,
                const std::function<bool(const Rule&)>& counts) {
  Pools pools;
  Collector collect(pools);
  for (const auto* anatomy : policies) {
    for (const auto& rule : anatomy->whole->rules()) {
      if ((rule.actions & action.actions).none() || !counts(rule)) continue;
      collect.take(rule.when);
      if (rule.unless) collect.take(*rule.unless);
      for (const auto& secret : rule.injects) collect.take(secret->bound);
      for (const auto& waiver : rule.waivers) {
        collect.take(waiver.when);
        collect.add("at", stated_value("at", spell_date(waiver.terms.until)));
      }
      // What is lowered is shown best by what lies above.
      if (rule.clamp.timeout) collect(NumberIs{Fact::timeout, {{rule.clamp.timeout->count(), {}}}});
      if (rule.clamp.by) collect(NumberIs{Fact::by, {{rule.clamp.by->count(), {}}}});
    }
  }
  // What a caller has to say is said, or the answer would be that it is not known.
  for (const auto& info : fact_table()) {
    const bool has = (info.actions & action.actions) == action.actions;
    if (!has || info.name.starts_with("sandbox.") || pools.contains(std::string(info.name))) continue;
    if (info.fact == Fact::command || info.fact == Fact::keys || info.fact == Fact::name)
      collect.text(info, "x");
    if (info.fact == Fact::host_path) collect.text(info, "x");
    if (info.fact == Fact::host) collect.text(info, kSite);
    if (info.fact == Fact::guest_path) collect.text(info, "/x");
    if (info.fact == Fact::by) collect.add(std::string(info.name), bare("1m"));
  }
  std::erase_if(pools, [&](const auto& pool) {
    const auto* info = fact_named(pool.first);
    if (info == nullptr) return false;
    // Whether it is looked into follows from the request.
    const bool unseen =
        action.name == Tunnel::kName &&
        (info->fact == Fact::method || info->fact == Fact::path || info->fact == Fact::scheme);
    return info->fact == Fact::tls || unseen || (info->actions & action.actions).none();
  });
  return pools;
}

std::vector<yaml::Node> stated_in(const Anatomy& anatomy) {
  std::vector<yaml::Node> all;
  const auto take = [&](const yaml::Node& node) {
    if (node.kind != Kind::map || node.find("call") == nullptr) return;
    auto copy = node;
    std::erase_if(copy.entries,
                  [](const yaml::Entry& entry) { return entry.key == "expect" || entry.key == "title"; });
    all.push_back(std::move(copy));
  };
  for (const auto& file : anatomy.files) {
    if (const auto* tests = file.root.find("tests")) {
      for (const auto& test : tests->value.items) take(test);
    }
    for (const auto* name : {"actions", "input", "web"}) {
      const auto* section = file.root.find(name);
      if (section == nullptr) continue;
      for (const auto& rule : section->value.entries) {
        const auto* examples = rule.value.find("examples");
        if (examples == nullptr) continue;
        for (const auto& side : examples->value.entries) {
          for (const auto& example : side.value.items) take(example);
        }
      }
    }
  }
  return all;
}

}  // namespace policy
