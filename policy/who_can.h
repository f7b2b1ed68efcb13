#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/explain.h"

// What each subject of the policies gets for one question: for `policy who-can`.
namespace policy {

struct CanRow {
  std::string subject;  // empty: anybody whom no subject names
  Judgement judgement;  // of the half that decides
};

// Nothing, with a report, when the statements are malformed or say who asks. Of a subject that may be several
// (`transport: [stdio, cli]`) the first stands for it.
std::optional<std::vector<CanRow>> who_can(const Anatomy&, std::string_view action,
                                           const yaml::Node& statements, const Facts& settings,
                                           const ReadInto&);

Json to_json(const std::vector<CanRow>&);
std::string to_text(const std::vector<CanRow>&);

}  // namespace policy
