#include "policy/reference.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/compile.h"
#include "policy/facts.h"
#include "policy/limit.h"
#include "policy/obligation.h"
#include "policy/wording.h"

namespace policy {
namespace {

struct KindWords {
  std::string_view name, matchers, example;
};

KindWords words_of(FactKind kind) {
  switch (kind) {
    case FactKind::word:
      return {"word", "a word, a list, equals, in, not", "web"};
    case FactKind::text:
      return {"text", "a text, a list, equals, in, not, glob, re2, re2_search", "{ glob: \"a*\" }"};
    case FactKind::number:
      return {"number", "a number, a list, equals, min, max, not", "{ max: 4 }"};
    case FactKind::size:
      return {"size", "a size, equals, min, max, not", "{ max: 200MiB }"};
    case FactKind::duration:
      return {"duration", "a duration, equals, min, max, not", "{ max: 10m }"};
    case FactKind::host_path:
      return {"host path", "a pattern, a list, path with dotfiles, not", "\"transfer:src/**\""};
    case FactKind::guest_path:
      return {"guest path", "a pattern, a list, path with dotfiles, not", "\"/tmp/**\""};
    case FactKind::labels:
      return {"labels", "a label, a list, any, all", "[x]"};
    case FactKind::host:
      return {"host", "a name, `*.name`, an address, a list, in, not", "\"*.example.org\""};
    case FactKind::url_path:
      return {"URL path", "a pattern, a list, in, not", "\"/simple/**\""};
    case FactKind::addresses:
      return {"addresses", "a block like 10.0.0.0/8, a list, in, not", "\"198.51.100.0/24\""};
  }
  return {};
}

// The narrowest words that together name the actions.
std::vector<std::string> actions_with(ActionSet actions) {
  std::vector<std::string> names;
  ActionSet left = actions;
  for (const auto& word : action_words()) {
    if (word.name == "any" || (word.actions & left).none() || (word.actions & actions) != word.actions)
      continue;
    names.emplace_back(word.name);
    left &= ~word.actions;
  }
  return names;
}

std::vector<std::string> facts_of(ActionSet actions) {
  std::vector<std::string> names;
  for (const auto& info : fact_table()) {
    if ((info.actions & actions) == actions) names.emplace_back(info.name);
  }
  return names;
}

std::string_view kind_of(const FactValue& value) {
  if (std::holds_alternative<bool>(value)) return "true or false";
  return std::holds_alternative<std::int64_t>(value) ? "number" : "text";
}

struct Named {
  std::string_view name, meaning;
};
constexpr std::array<Named, 3> kEffects{{
    {"allow",
     "may carry obligations; like each rule, `shadow: true`, with which it is tried and not enforced"},
    {"ask", "a person must agree; may carry `who` (`user`, `client` or a subject), `within` and obligations"},
    {"deny", "may carry `why` and `hint`, which are told to whoever is refused"},
}};

std::string_view meaning(Meter meter) {
  switch (meter) {
    case Meter::sandboxes:
      return "how many there may be, those being made included; per everyone, subject or session";
    case Meter::sandbox_age:
      return "how old one may become, like `2h`";
    case Meter::calls:
      return "tool calls in a time, like `300/1m`, at once no more than `burst` if it says so; per everyone, "
             "subject, session or sandbox";
    case Meter::jobs:
      return "background commands that run in one sandbox";
    case Meter::copy_bytes:
      return "bytes of one copy, like `200MiB`";
    case Meter::copy_files:
      return "files of one copy";
  }
  return {};
}
constexpr std::array<Meter, 6> kMeters{Meter::sandboxes, Meter::sandbox_age, Meter::calls,
                                       Meter::jobs,      Meter::copy_bytes,  Meter::copy_files};

std::string example_of(const FactInfo& info) {
  return std::string(info.choices.empty() ? words_of(info.kind).example : info.choices.front());
}

Json list(const std::vector<std::string>& words) {
  Json::Array all;
  for (const auto& word : words) all.emplace_back(word);
  return Json(std::move(all));
}

// A table of rows of cells, as text in columns or as Markdown.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& cells : rows_) {
      for (std::size_t i = 0; i + 1 < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size() + 2);
    }
    std::string out;
    for (const auto& cells : rows_) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        auto cell = cells[i];
        cell.resize(std::max(widths[i], cell.size()), ' ');
        line += cell;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }
  std::string markdown() const {
    std::string out;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const auto& cell : rows_[i]) out += "| " + cell + " ";
      out += "|\n";
      if (i > 0) continue;
      for (std::size_t column = 0; column < rows_[0].size(); ++column) out += "|---";
      out += "|\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::vector<std::pair<std::string, Table>> tables() {
  Table actions({"action", "facts"});
  for (const auto& word : action_words()) {
    if (word.name != "any") actions.row({std::string(word.name), joined(facts_of(word.actions))});
  }
  Table facts({"fact", "kind", "of", "values", "matched by", "example"});
  for (const auto& info : fact_table()) {
    const auto words = words_of(info.kind);
    std::vector<std::string> choices(info.choices.begin(), info.choices.end());
    facts.row({std::string(info.name), std::string(words.name), joined(actions_with(info.actions)),
               joined(choices), std::string(words.matchers), example_of(info)});
  }
  Table settings({"setting", "kind"});
  for (const auto& [name, value] : known_settings()) {
    settings.row({"settings." + name, std::string(kind_of(value))});
  }
  Table effects({"effect", "carries"});
  for (const auto& effect : kEffects) effects.row({std::string(effect.name), std::string(effect.meaning)});
  Table demands({"obligation", "of", "in rules that", "meaning"});
  for (const auto& one : obligations()) {
    demands.row({std::string(one.key), joined(actions_with(one.actions)), std::string(one.effects),
                 std::string(one.meaning)});
  }
  Table limits({"limit", "meaning"});
  for (const auto meter : kMeters) {
    limits.row({std::string(spelling(meter)), std::string(meaning(meter))});
  }
  return {{"Actions", std::move(actions)},
          {"Facts", std::move(facts)},
          {"Settings, under `when`", std::move(settings)},
          {"Effects", std::move(effects)},
          {"Obligations", std::move(demands)},
          {"Limits", std::move(limits)}};
}

}  // namespace

Json facts_json() {
  Json::Array actions, facts, settings, effects, demands, limits;
  for (const auto& word : action_words()) {
    if (word.name == "any") continue;
    actions.push_back(Json(Json::Object{{"action", word.name}, {"facts", list(facts_of(word.actions))}}));
  }
  for (const auto& info : fact_table()) {
    facts.push_back(Json(Json::Object{{"fact", info.name},
                                      {"kind", words_of(info.kind).name},
                                      {"actions", list(actions_with(info.actions))},
                                      {"choices", list({info.choices.begin(), info.choices.end()})},
                                      {"matchers", words_of(info.kind).matchers},
                                      {"example", example_of(info)}}));
  }
  for (const auto& [name, value] : known_settings()) {
    settings.push_back(Json(Json::Object{{"setting", "settings." + name}, {"kind", kind_of(value)}}));
  }
  for (const auto& effect : kEffects) {
    effects.push_back(Json(Json::Object{{"effect", effect.name}, {"carries", effect.meaning}}));
  }
  for (const auto& one : obligations()) {
    demands.push_back(Json(Json::Object{{"obligation", one.key},
                                        {"actions", list(actions_with(one.actions))},
                                        {"effects", one.effects},
                                        {"meaning", one.meaning}}));
  }
  for (const auto meter : kMeters) {
    limits.push_back(Json(Json::Object{{"limit", spelling(meter)}, {"meaning", meaning(meter)}}));
  }
  return Json(Json::Object{{"actions", std::move(actions)},
                           {"facts", std::move(facts)},
                           {"settings", std::move(settings)},
                           {"effects", std::move(effects)},
                           {"obligations", std::move(demands)},
                           {"limits", std::move(limits)}});
}

std::string facts_text() {
  std::string out;
  for (const auto& [title, table] : tables())
    out += (out.empty() ? "" : "\n") + title + "\n\n" + table.text();
  return out;
}

std::string facts_markdown() {
  std::string out;
  for (const auto& [title, table] : tables()) {
    out += (out.empty() ? "## " : "\n## ") + title + "\n\n" + table.markdown();
  }
  return out;
}

}  // namespace policy
