#include "gateway/cli/json_line.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/mcp/line_reader.h"
#include "policy/diagnostic.h"
#include "policy/wording.h"

namespace gateway::cli {

using nlohmann::json;

JsonLine read_json_line(std::string_view text) {
  const auto read = mcp::read_json(text, {.bytes = kMaxRequestLine, .depth = 8, .values = 10'000});
  if (!read.value) return {read.top_id, nullptr, read.message};
  if (!read.value->is_object()) return {nullptr, nullptr, "a request is one object on one line"};
  const auto named = read.value->find("id");
  if (named == read.value->end()) return {nullptr, read.value, {}};
  if (!named->is_string() && !named->is_number_integer())
    return {nullptr, nullptr, "`id` must be text or a whole number"};
  return {std::make_shared<const json>(*named), read.value, {}};
}

tl::unexpected<policy::Error> invalid_line(std::string message) {
  return policy::fail(std::string(kInvalidLine), std::move(message));
}

policy::Result<void> only_keys(const json& object, std::string_view what,
                               std::span<const std::string_view> keys) {
  if (!object.is_object()) return invalid_line(std::string(what) + " must be an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const auto near = policy::suggestion(key, keys);
      return invalid_line("unknown key `" + key + "` in " + std::string(what) +
                          (near.empty() ? "; it takes " + policy::joined({keys.begin(), keys.end()}) : near));
    }
  }
  return {};
}

nlohmann::ordered_json answer_to(const JsonLine& line) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  if (line.id && !line.id->is_null()) out["id"] = *line.id;
  return out;
}

std::string refusal_of(const JsonLine& line, const char* key, std::string_view verdict, std::string_view code,
                       std::string_view reason) {
  auto out = answer_to(line);
  out[key] = verdict;
  out["code"] = code;
  out["reason"] = reason;
  return line_of(out);
}

std::string line_of(const nlohmann::ordered_json& answer) {
  return answer.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

std::string too_long_reason() { return "longer than " + std::to_string(kMaxRequestLine) + " bytes"; }

int answer_lines(const std::function<std::string(std::string_view line)>& answer,
                 const std::string& too_long) {
  const auto put = [](const std::string& line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  };
  mcp::LineReader lines(kMaxRequestLine);
  const auto take = [&](const mcp::LineReader::Line& line) {
    if (line.kind == mcp::LineReader::Kind::too_long) {
      put(too_long);
    } else if (line.text.find_first_not_of(" \t\r") != std::string::npos) {
      put(answer(line.text));
    }
    std::fflush(stdout);
  };
  // Up to each line's end at once, so that whoever writes one line gets its answer before the next.
  std::string bytes;
  for (int c = std::getc(stdin); c != EOF; c = std::getc(stdin)) {
    bytes.push_back(static_cast<char>(c));
    if (c != '\n' && bytes.size() < (std::size_t{1} << 16)) continue;
    lines.push(bytes);
    bytes.clear();
    while (auto line = lines.next()) take(*line);
  }
  lines.push(bytes);
  while (auto line = lines.next()) take(*line);
  if (auto line = lines.finish()) take(*line);
  return std::ferror(stdout) != 0 ? 1 : 0;
}

}  // namespace gateway::cli
