#include "vmware/standin/keystrokes.h"

#include <utility>

namespace standin {
namespace {

constexpr std::pair<char, const char*> kPlain[] = {
    {' ', "spc"},       {'\t', "tab"},        {'\n', "ret"},         {'\r', "ret"},
    {'-', "minus"},     {'=', "equal"},       {'[', "bracket_left"}, {']', "bracket_right"},
    {';', "semicolon"}, {'\'', "apostrophe"}, {'`', "grave_accent"}, {'\\', "backslash"},
    {',', "comma"},     {'.', "dot"},         {'/', "slash"},
};
constexpr std::pair<char, const char*> kShifted[] = {
    {'!', "1"},
    {'@', "2"},
    {'#', "3"},
    {'$', "4"},
    {'%', "5"},
    {'^', "6"},
    {'&', "7"},
    {'*', "8"},
    {'(', "9"},
    {')', "0"},
    {'_', "minus"},
    {'+', "equal"},
    {'{', "bracket_left"},
    {'}', "bracket_right"},
    {':', "semicolon"},
    {'"', "apostrophe"},
    {'~', "grave_accent"},
    {'|', "backslash"},
    {'<', "comma"},
    {'>', "dot"},
    {'?', "slash"},
};

std::vector<std::string> keys_of(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return {std::string(1, c)};
  if (c >= 'A' && c <= 'Z') return {"shift", std::string(1, static_cast<char>(c - 'A' + 'a'))};
  for (const auto& [symbol, key] : kPlain) {
    if (symbol == c) return {key};
  }
  for (const auto& [symbol, key] : kShifted) {
    if (symbol == c) return {"shift", key};
  }
  return {};
}

}  // namespace

std::optional<std::vector<std::vector<std::string>>> keys_for(std::string_view text) {
  std::vector<std::vector<std::string>> keys;
  for (const char c : text) {
    keys.push_back(keys_of(c));
    if (keys.back().empty()) return std::nullopt;
  }
  return keys;
}

}  // namespace standin
