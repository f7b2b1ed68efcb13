#pragma once

#include <string>
#include <string_view>

#include "gateway/cli/json_line.h"
#include "policy/anatomy.h"

// One question as a line of JSON, and its answer: what `check request` reads and prints.
namespace gateway::cli {

// The answer as one line of JSON without its end. The policy's rules answer, and the rule that a sandbox of
// somebody else does not exist; enforcers and limits are not asked. A malformed line is answered with a deny
// of code `request.invalid`. Never throws. If a malformed line could be answered with an allow, a test that
// drives this command would prove a policy safe that is not.
std::string answer_request(const policy::Anatomy&, const policy::Facts& settings, std::string_view line);

// The answer to a line that is longer than kMaxRequestLine.
std::string answer_too_long();

}  // namespace gateway::cli
