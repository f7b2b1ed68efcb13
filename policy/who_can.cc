#include "policy/who_can.h"

#include <algorithm>
#include <utility>

#include "policy/stated_words.h"

namespace policy {
namespace {

constexpr std::string_view kAnybody = "anybody else";

}  // namespace

std::optional<std::vector<CanRow>> who_can(const Anatomy& anatomy, std::string_view action,
                                           const yaml::Node& statements, const Facts& settings,
                                           const ReadInto& into) {
  if (statements.find("as") != nullptr) {
    into.error("P0152", {1, 1}, "`as` is what `who-can` goes through; leave it out, or use `explain`");
    return std::nullopt;
  }
  std::vector<std::string> subjects;
  for (const auto& [name, is] : anatomy.everyone.subjects) subjects.push_back(name);
  subjects.emplace_back();
  std::vector<CanRow> rows;
  for (auto& subject : subjects) {
    auto map = statements;
    if (!subject.empty()) state(map, "as", stated_value("as", subject));
    auto question = read_question(action, {1, 1}, map, anatomy.everyone, into);
    if (!question) return std::nullopt;
    assume_settings(*question, map, settings);
    const auto halves = explain(anatomy, *question);
    if (halves.empty()) return std::nullopt;
    rows.push_back({std::move(subject), deciding(halves).judgement});
  }
  return rows;
}

Json to_json(const std::vector<CanRow>& rows) {
  Json::Array all;
  for (const auto& row : rows) {
    Json::Array unknown;
    for (const auto& name : row.judgement.unknown) unknown.emplace_back(name);
    auto json = to_json(row.judgement.rule);
    json["subject"] = row.subject.empty() ? std::string(kAnybody) : row.subject;
    json["effect"] = spelling(row.judgement.effect);
    json["code"] = row.judgement.code;
    json["unknown"] = std::move(unknown);
    all.push_back(std::move(json));
  }
  return Json(Json::Object{{"subjects", std::move(all)}});
}

std::string to_text(const std::vector<CanRow>& rows) {
  std::size_t width = kAnybody.size();
  for (const auto& row : rows) width = std::max(width, row.subject.size());
  std::string out;
  for (const auto& row : rows) {
    std::string line = row.subject.empty() ? std::string(kAnybody) : row.subject;
    line.resize(width + 2, ' ');
    line += spelling(row.judgement.effect);
    line.resize(width + 9, ' ');
    line += row.judgement.rule.id;
    if (!row.judgement.rule.where.empty()) line += "  " + row.judgement.rule.where;
    for (std::size_t i = 0; i < row.judgement.unknown.size(); ++i) {
      line += (i == 0 ? "  not knowing " : ", ") + row.judgement.unknown[i];
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace policy
