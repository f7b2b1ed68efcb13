#include "policy/regex_class.h"

#include <algorithm>
#include <array>
#include <vector>

namespace policy {
namespace {

struct Named {
  std::string_view name;
  std::vector<CodePointRange> ranges;
};

const std::vector<Named>& named() {
  static const std::vector<Named> all{
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 0x7F}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return all;
}

constexpr char32_t kKelvin = 0x212A;  // folds to k
constexpr char32_t kLongS = 0x17F;    // folds to s

}  // namespace

std::optional<CodePoints> class_of_name(std::string_view name) {
  const auto& all = named();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return at == all.end() ? std::nullopt : std::optional(joined(at->ranges));
}

std::optional<CodePoints> class_of_escape(char letter) {
  switch (letter) {
    case 'd':
      return class_of_name("digit");
    case 'w':
      return class_of_name("word");
    case 's':  // no vertical tab, unlike [:space:]
      return joined({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}});
    case 'D':
    case 'S':
    case 'W':
      return others(*class_of_escape(static_cast<char>(letter - 'A' + 'a')));
    default:
      return std::nullopt;
  }
}

CodePoints without_case(const CodePoints& points) {
  std::vector<CodePointRange> all(points.begin(), points.end());
  const auto mirror = [&](const CodePointRange& range, char32_t first, char32_t last, char32_t to) {
    const auto from = std::max(range.first, first);
    const auto until = std::min(range.last, last);
    if (from <= until) all.push_back({from - first + to, until - first + to});
  };
  for (const auto& range : points) {
    mirror(range, U'a', U'z', U'A');
    mirror(range, U'A', U'Z', U'a');
    for (const auto& [letter, also] : {std::pair{U'k', kKelvin}, std::pair{U'K', kKelvin},
                                       std::pair{U's', kLongS}, std::pair{U'S', kLongS}}) {
      if (range.first <= letter && letter <= range.last) all.push_back({also, also});
    }
  }
  return joined(std::move(all));
}

}  // namespace policy
