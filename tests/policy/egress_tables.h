#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "policy/utf8.h"
#include "tests/policy/tables.h"

// The tables of tests/data/egress/.
namespace policy {

// The fields of each row, without comments and the row of names.
inline std::vector<std::vector<std::string>> egress_rows(const std::string& file) {
  std::ifstream table(std::string(SALLYPORT_SOURCE_DIR "/tests/data/egress/") + file);
  std::vector<std::vector<std::string>> rows;
  bool named = false;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (!named) {
      named = true;
      continue;
    }
    rows.push_back(fields_of(line));
  }
  return rows;
}

// What a field of url-vectors.tsv stands for.
inline std::string egress_bytes(std::string_view text) {
  constexpr std::string_view kRepeat = "@repeat:", kLength = "...len=";
  if (text.starts_with(kRepeat)) {
    const auto at = text.find(kLength);
    std::string out(text.substr(kRepeat.size(), at - kRepeat.size()));
    out.resize(std::stoul(std::string(text.substr(at + kLength.size()))), 'a');
    return out;
  }
  std::string out;
  while (!text.empty()) {
    std::size_t used = 1;
    if (text.starts_with("\\x")) {
      out += static_cast<char>(std::stoi(std::string(text.substr(2, 2)), nullptr, 16));
      used = 4;
    } else if (text.starts_with("\\u{")) {
      const auto end = text.find('}');
      append_utf8(static_cast<char32_t>(std::stoul(std::string(text.substr(3, end - 3)), nullptr, 16)), out);
      used = end + 1;
    } else if (text.starts_with("\\")) {
      constexpr std::string_view kNames = "\\trn", kBytes = "\\\t\r\n";
      out += kBytes[kNames.find(text.at(1))];
      used = 2;
    } else {
      out += text.front();
    }
    text.remove_prefix(used);
  }
  return out;
}

}  // namespace policy
