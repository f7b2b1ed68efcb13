#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "gateway/mcp/json_reader.h"
#include "policy/result.h"

// Questions as lines of JSON, one object each, and their answers: what the commands `check …` have in common.
namespace gateway::cli {

inline constexpr std::size_t kMaxRequestLine = std::size_t{1} << 20;
// The code of the answer to a line that is no question.
inline constexpr std::string_view kInvalidLine = "request.invalid";

struct JsonLine {
  // The `id` of the question, given back in its answer, as far as it could be read; else null.
  mcp::JsonPtr id;
  mcp::JsonPtr object;  // null when the line is no question
  std::string fault;    // why not
};

// Strict JSON, an object, and an `id` that is text or a whole number where there is one. Never throws.
JsonLine read_json_line(std::string_view text);

tl::unexpected<policy::Error> invalid_line(std::string message);
// Refuses keys of `object` that are none of `keys`, with the one that was probably meant.
policy::Result<void> only_keys(const nlohmann::json& object, std::string_view what,
                               std::span<const std::string_view> keys);

// An answer with its `id`, to be filled.
nlohmann::ordered_json answer_to(const JsonLine&);
// An answer that refuses: `key` says so in the words of the command.
std::string refusal_of(const JsonLine&, const char* key, std::string_view verdict, std::string_view code,
                       std::string_view reason);
// One line without its end, in ASCII: the answers to hostile questions end up on terminals too.
std::string line_of(const nlohmann::ordered_json& answer);
// What a line longer than kMaxRequestLine is told.
std::string too_long_reason();

// Reads stdin to its end and prints an answer for each line that is not blank. Returns the exit code.
int answer_lines(const std::function<std::string(std::string_view line)>& answer,
                 const std::string& too_long);

}  // namespace gateway::cli
