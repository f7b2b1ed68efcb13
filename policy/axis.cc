#include "policy/axis.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/glob_relation.h"

namespace policy {
namespace {

// The most one search through patterns may take.
constexpr std::size_t kMaxSearch = 400'000;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class T, class V>
bool among(const std::vector<T>& values, const V& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

struct Meets {
  const AxisValue& value;

  bool operator()(const SetBy& by) const {
    return std::get<std::int64_t>(value) <= static_cast<std::int64_t>(by.lowest);
  }
  bool operator()(const std::vector<Transport>* of) const {
    const auto& text = std::get<std::string>(value);
    return std::any_of(of->begin(), of->end(), [&](Transport one) { return policy::spelling(one) == text; });
  }
  bool operator()(const std::vector<std::string>* of) const {
    return among(*of, std::get<std::string>(value));
  }
  bool operator()(const std::vector<std::uint32_t>* of) const {
    return among(*of, std::get<std::int64_t>(value));
  }
  bool operator()(const WordIs* is) const { return takes(*is, std::get<std::string>(value)); }
  bool operator()(const TextLike* like) const { return takes(*like, std::get<std::string>(value)); }
  bool operator()(const NumberIs* is) const { return takes(*is, std::get<std::int64_t>(value)); }
  bool operator()(const PathLike* like) const {
    return takes(*like, std::get<std::vector<std::string>>(value));
  }
  bool operator()(const SettingIs* is) const {
    const auto equal = [&](const FactValue& one) {
      return std::visit([&](const auto& held) { return value == AxisValue(held); }, one);
    };
    if (!is->values.empty()) return std::any_of(is->values.begin(), is->values.end(), equal);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number != nullptr && is->range.has(*number);
  }
};

// Values that tell apart whatever is asked. On axes of words and numbers one of these meets everything if
// any value does; on those of texts and paths they are a guess that spares a search.
struct Trials {
  std::vector<AxisValue>& values;

  void operator()(const SetBy&) const {
    for (auto tier = static_cast<std::int64_t>(kTierCount); tier >= 0; --tier) values.emplace_back(tier);
  }
  void operator()(const std::vector<Transport>*) const {
    for (const auto one : {Transport::stdio, Transport::http, Transport::cli, Transport::system})
      values.emplace_back(std::string(policy::spelling(one)));
  }
  void operator()(const std::vector<std::string>* of) const { words(*of); }
  void operator()(const std::vector<std::uint32_t>* of) const {
    for (const auto one : *of) around(one);
  }
  void operator()(const WordIs* is) const {
    const auto choices = info_of(is->fact).choices;
    if (choices.empty()) return words(is->words);
    for (const auto choice : choices) values.emplace_back(std::string(choice));
  }
  void operator()(const NumberIs* is) const {
    for (const auto& one : is->ranges) range(one.min, one.max);
  }
  void operator()(const SettingIs* is) const {
    if (is->values.empty()) range(is->range.min, is->range.max);
    for (const auto& one : is->values) {
      if (std::holds_alternative<bool>(one)) {
        values.emplace_back(false);
        values.emplace_back(true);
      } else if (const auto* number = std::get_if<std::int64_t>(&one)) {
        around(*number);
      } else {
        words({std::get<std::string>(one)});
      }
    }
  }
  void operator()(const TextLike* like) const {
    for (const auto& pattern : like->patterns) {
      for (const std::string_view run : {"", "x", "zz"}) {
        std::string text;
        for (const char c : pattern) text += c == '*' ? std::string(run) : std::string(1, c == '?' ? 'x' : c);
        values.emplace_back(std::move(text));
      }
    }
    values.emplace_back(std::string("other"));
  }
  void operator()(const PathLike* like) const {
    for (const auto& pattern : like->patterns) {
      for (const std::string_view run : {"x", "", ".z"}) path(pattern, run);
    }
    values.emplace_back(info_of(like->fact).kind == FactKind::host ? std::vector<std::string>{"org", "other"}
                                                                   : std::vector<std::string>{"other"});
  }

 private:
  void words(const std::vector<std::string>& of) const {
    for (const auto& one : of) values.emplace_back(one);
    std::string other = "other";
    while (std::find(values.begin(), values.end(), AxisValue(other)) != values.end()) other += "x";
    values.emplace_back(std::move(other));
  }
  void around(std::int64_t number) const {
    values.emplace_back(number);
    if (number < kMax) values.emplace_back(number + 1);
    if (number > 0) values.emplace_back(number - 1);
  }
  void range(const std::optional<std::int64_t>& min, const std::optional<std::int64_t>& max) const {
    if (min) around(*min);
    if (max) around(*max);
    values.emplace_back(std::int64_t{0});
  }
  void path(const PathPattern& pattern, std::string_view run) const {
    std::vector<std::string> names;
    for (const auto& part : pattern.components()) {
      if (part == "**") {
        if (run == ".z") names.emplace_back("y");
        continue;
      }
      std::string name;
      for (const char c : part) name += c == '*' ? std::string(run) : std::string(1, c == '?' ? 'x' : c);
      if (name.empty()) name = "x";
      names.push_back(std::move(name));
    }
    const auto unfit = [](const std::string& name) { return name == "." || name == ".."; };
    if (std::none_of(names.begin(), names.end(), unfit)) values.emplace_back(std::move(names));
  }
};

bool same(const Asked& a, const Asked& b) {
  if (a.what == b.what) return true;
  const auto* left = std::get_if<const PathLike*>(&a.what);
  const auto* right = std::get_if<const PathLike*>(&b.what);
  return left != nullptr && right != nullptr && (*left)->dotfiles == (*right)->dotfiles &&
         (*left)->patterns == (*right)->patterns;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    names.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

// Whether the axis has so many values that trying some decides nothing.
bool has_patterns(std::span<const Asked> asked) {
  return std::any_of(asked.begin(), asked.end(), [](const Asked& one) {
    return std::holds_alternative<const TextLike*>(one.what) ||
           std::holds_alternative<const PathLike*>(one.what);
  });
}

// Whether it holds for values only that are written out, each of which is a trial.
bool is_written_out(const Asked& one) {
  const auto plain = [](std::string_view pattern) {
    return pattern.find_first_of("*?") == std::string::npos;
  };
  if (!one.holds) return false;
  if (const auto* text = std::get_if<const TextLike*>(&one.what))
    return std::all_of((*text)->patterns.begin(), (*text)->patterns.end(), plain);
  if (const auto* like = std::get_if<const PathLike*>(&one.what))
    return std::all_of((*like)->patterns.begin(), (*like)->patterns.end(),
                       [&](const PathPattern& pattern) { return plain(pattern.text()); });
  return std::holds_alternative<const WordIs*>(one.what);
}

Meeting search(std::span<const Asked> asked, std::size_t& steps) {
  const bool paths = std::holds_alternative<const PathLike*>(asked.front().what);
  GlobRelation relation(paths ? GlobRelation::Over::paths : GlobRelation::Over::texts);
  std::vector<std::pair<std::size_t, bool>> ends;  // of each that is asked: where its patterns end
  std::size_t added = 0;
  for (const auto& one : asked) {
    if (const auto* like = std::get_if<const PathLike*>(&one.what)) {
      for (const auto& pattern : (*like)->patterns) relation.add_path(pattern, (*like)->dotfiles);
      added += (*like)->patterns.size();
    } else if (const auto* text = std::get_if<const TextLike*>(&one.what)) {
      for (const auto& pattern : (*text)->patterns) relation.add_text(pattern);
      added += (*text)->patterns.size();
    } else if (const auto* is = std::get_if<const WordIs*>(&one.what)) {
      for (const auto& word : (*is)->words) relation.add_word(word);
      added += (*is)->words.size();
    } else {
      return {Meeting::End::undecided};
    }
    ends.emplace_back(added, one.holds);
  }
  const auto wanted = [&](const std::vector<bool>& matched) {
    std::size_t at = 0;
    for (const auto& [end, holds] : ends) {
      bool any = false;
      for (; at < end; ++at) any = any || matched[at];
      if (any != holds) return false;
    }
    return true;
  };
  std::string text;
  auto left = std::min(steps, kMaxSearch);
  const auto given = left;
  const auto end = relation.find(wanted, left, text);
  steps -= given - left;
  if (end == GlobRelation::End::too_much) return {Meeting::End::undecided};
  if (end == GlobRelation::End::none) return {Meeting::End::none};
  return {Meeting::End::some, paths ? AxisValue(split_path(text)) : AxisValue(std::move(text))};
}

}  // namespace

std::string spelling(const Axis& axis) {
  switch (axis.of) {
    case Axis::Of::transport:
    case Axis::Of::os_user:
    case Axis::Of::uid:
    case Axis::Of::client:
      return "for";
    case Axis::Of::fact:
      return std::string(info_of(axis.fact).name);
    case Axis::Of::label:
      return std::string(info_of(Fact::sandbox_labels).name);
    case Axis::Of::setting:
      return "settings." + std::string(axis.name);
  }
  return {};
}

bool meets(const Asked& asked, const AxisValue& value) {
  return std::visit(Meets{value}, asked.what) == asked.holds;
}

Meeting meet(std::span<const Asked> asked, std::size_t& steps) {
  for (auto a = asked.begin(); a != asked.end(); ++a) {
    for (auto b = asked.begin(); b != a; ++b) {
      if (a->holds != b->holds && same(*a, *b)) return {Meeting::End::none};
    }
  }
  std::vector<AxisValue> trials;
  for (const auto& one : asked) std::visit(Trials{trials}, one.what);
  for (auto& value : trials) {
    const auto cost = asked.size();
    if (cost > steps) return {Meeting::End::undecided};
    steps -= cost;
    if (std::all_of(asked.begin(), asked.end(), [&](const Asked& one) { return meets(one, value); })) {
      return {Meeting::End::some, std::move(value)};
    }
  }
  const bool tried = !has_patterns(asked) || std::any_of(asked.begin(), asked.end(), is_written_out);
  return tried ? Meeting{Meeting::End::none} : search(asked, steps);
}

std::optional<AxisValue> value_at(const Axis& axis, const Question& question) {
  const auto& who = question.request.who;
  const auto known = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<AxisValue>(text);
  };
  switch (axis.of) {
    case Axis::Of::transport:
      return std::string(policy::spelling(who.transport));
    case Axis::Of::os_user:
      return known(who.os_user);
    case Axis::Of::client:
      return known(who.client_name);
    case Axis::Of::uid:
      return who.uid ? std::optional<AxisValue>(std::int64_t{*who.uid}) : std::nullopt;
    case Axis::Of::label: {
      if (!question.request.sandbox) return std::nullopt;
      const auto& labels = question.request.sandbox->labels;
      const auto at = labels.find(axis.name);
      return at == labels.end() ? static_cast<std::int64_t>(kTierCount)
                                : static_cast<std::int64_t>(at->second);
    }
    case Axis::Of::setting: {
      const auto at = question.settings.find(axis.name);
      if (at == question.settings.end()) return std::nullopt;
      return std::visit([](const auto& held) { return AxisValue(held); }, at->second);
    }
    case Axis::Of::fact:
      break;
  }
  const auto value = value_of(axis.fact, question);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* names = names_of(value)) return *names;
  return std::nullopt;
}

}  // namespace policy
