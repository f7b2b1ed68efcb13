#include "policy/example_call.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "policy/stated_words.h"
#include "policy/units.h"
#include "policy/web_pattern.h"

namespace policy {
namespace {

// Longest text that is shown or asked about.
constexpr std::size_t kMaxText = 200;
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 53;

// The word that names as little as possible beside the action.
const ActionWord* word_for(std::size_t action) {
  const ActionWord* best = nullptr;
  for (const auto& word : action_words()) {
    if (!word.actions.test(action)) continue;
    if (best == nullptr || word.actions.count() < best->actions.count()) best = &word;
  }
  return best;
}

std::string path_text(FactKind kind, const std::vector<std::string>& names) {
  if (kind == FactKind::host) return host_text(names);
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : "/") + name;
  if (kind == FactKind::guest_path || kind == FactKind::url_path) return "/" + text;
  return text.empty() ? "." : text;
}

// A value as a statement has it; nothing when no statement can.
std::optional<std::string> stated_text(const FactInfo& info, const AxisValue& value) {
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) return path_text(info.kind, *names);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || *number < 0 || *number >= kMaxNumber) return std::nullopt;
  if (info.kind == FactKind::size) return spell_size(static_cast<std::uint64_t>(*number));
  if (info.kind == FactKind::duration) return spell_duration(std::chrono::seconds(*number));
  return std::to_string(*number);
}

// What a caller has to say, as good as any.
std::string_view ordinary(FactKind kind) {
  switch (kind) {
    case FactKind::host_path:
    case FactKind::word:
    case FactKind::text:
      return "x";
    case FactKind::guest_path:
      return "/x";
    case FactKind::duration:
      return "1m";
    case FactKind::number:
    case FactKind::size:
    case FactKind::labels:
    case FactKind::host:
    case FactKind::url_path:
    case FactKind::addresses:
      break;
  }
  return {};
}

bool fill_in(yaml::Node& map, std::size_t action, const Point& point) {
  for (const auto& [axis, value] : point) {
    if (axis.of != Axis::Of::fact) continue;
    const auto& info = info_of(axis.fact);
    if (info.fact == Fact::tls) continue;  // follows from the rest
    const auto text = stated_text(info, value);
    if (!text || text->size() > kMaxText) return false;
    state(map, info.name, stated_value(info.name, *text));
  }
  for (const auto& info : fact_table()) {
    const bool chosen = !info.choices.empty() || info.name.find('.') != std::string_view::npos;
    const auto text = ordinary(info.kind);
    // Of a web request the statement itself says what is ordinary.
    const bool web = web_actions().test(action);
    if (web || !info.actions.test(action) || chosen || text.empty() || info.fact == Fact::image) continue;
    if (map.find(info.name) == nullptr) state(map, info.name, stated_value(info.name, text));
  }
  return true;
}

bool place(Request& request, Facts& settings, const Point& point) {
  for (const auto& [axis, value] : point) {
    const auto* text = std::get_if<std::string>(&value);
    switch (axis.of) {
      case Axis::Of::transport:
        for (const auto one : {Transport::stdio, Transport::http, Transport::cli, Transport::system}) {
          if (text != nullptr && *text == spelling(one)) request.who.transport = one;
        }
        break;
      case Axis::Of::os_user:
        if (text != nullptr) request.who.os_user = *text;
        break;
      case Axis::Of::client:
        if (text != nullptr) request.who.client_name = *text;
        break;
      case Axis::Of::uid: {
        const auto uid = std::get<std::int64_t>(value);
        if (uid < 0 || uid > std::numeric_limits<std::uint32_t>::max()) return false;
        request.who.uid = static_cast<std::uint32_t>(uid);
        break;
      }
      case Axis::Of::label:
        if (!request.sandbox) return false;
        if (const auto by = std::get<std::int64_t>(value); by < static_cast<std::int64_t>(kTierCount)) {
          request.sandbox->labels.emplace(axis.name, static_cast<Tier>(by));
        }
        break;
      case Axis::Of::setting:
        if (const auto* flag = std::get_if<bool>(&value)) {
          settings.insert_or_assign(std::string(axis.name), *flag);
        } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
          settings.insert_or_assign(std::string(axis.name), *number);
        } else if (text != nullptr) {
          settings.insert_or_assign(std::string(axis.name), *text);
        }
        break;
      case Axis::Of::fact:
        break;
    }
  }
  return true;
}

std::string spelt(const Axis& axis, const AxisValue& value) {
  if (axis.of == Axis::Of::label) return std::string(axis.name);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (axis.of == Axis::Of::fact) {
    const auto& info = info_of(axis.fact);
    const auto text = stated_text(info, value).value_or("");
    return info.kind == FactKind::host_path ? "transfer:" + text : text;
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

std::string_view name_of(const Axis& axis) {
  switch (axis.of) {
    case Axis::Of::transport:
      return "transport";
    case Axis::Of::os_user:
      return "os_user";
    case Axis::Of::uid:
      return "uid";
    case Axis::Of::client:
      return "client";
    case Axis::Of::fact:
    case Axis::Of::label:
    case Axis::Of::setting:
      break;
  }
  return {};
}

}  // namespace

std::optional<ExampleCall> ExampleCall::at(std::size_t action, const Point& point) {
  const auto* word = word_for(action);
  if (word == nullptr) return std::nullopt;
  yaml::Node map;
  map.kind = yaml::Node::Kind::map;
  if (!fill_in(map, action, point)) return std::nullopt;
  Diagnostics found;
  auto stated = read_question(word->name, {1, 1}, map, Scope{}, {"example", &found});
  if (!stated) return std::nullopt;
  for (std::size_t i = 0; i < stated->requests.size(); ++i) {
    auto& request = stated->requests[i];
    if (request.what.index() != action) continue;
    if (!place(request, stated->settings, point)) return std::nullopt;
    ExampleCall made(std::move(*stated), i);
    const bool is = std::all_of(point.begin(), point.end(), [&](const auto& at) {
      const auto value = value_at(at.first, made.question());
      return value && *value == at.second;
    });
    return is ? std::optional(std::move(made)) : std::nullopt;
  }
  return std::nullopt;
}

std::string spell_call(std::size_t action, const Point& point) {
  const auto* word = word_for(action);
  std::string text(word == nullptr ? std::string_view() : word->name);
  for (const auto& [axis, value] : point) {
    if (axis.of == Axis::Of::label && std::get<std::int64_t>(value) == static_cast<std::int64_t>(kTierCount))
      continue;
    const auto name = name_of(axis);
    auto shown = spelt(axis, value);
    if (shown.empty() || shown.find_first_of(" \"") != std::string::npos)
      shown = shown.insert(0, 1, '"') + '"';
    text.append(" ").append(name.empty() ? spelling(axis) : std::string(name)).append("=").append(shown);
  }
  return text;
}

Unseen unseen_facts(std::size_t action) {
  Unseen unseen;
  const auto call = ExampleCall::at(action, {});
  if (!call) return unseen;
  for (const auto& info : fact_table()) {
    if (!info.actions.test(action)) continue;
    const auto value = value_of(info.fact, call->question());
    const auto fact = static_cast<std::size_t>(info.fact);
    if (std::holds_alternative<Later>(value)) unseen.later.set(fact);
    if (std::holds_alternative<std::monostate>(value)) unseen.hidden.set(fact);
  }
  return unseen;
}

}  // namespace policy
