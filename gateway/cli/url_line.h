#pragma once

#include <string>
#include <string_view>

// The target of a web request as a line of JSON, and where it would go: what `check url` reads and prints.
namespace gateway::cli {

// `line`: `{"id","method","target","host":[…]}` as a proxy is sent it, or `{"id","url"}` as a person writes
// it; `"context":"path-rule"` when a rule judges paths of the host. The answer is one line of JSON without
// its end: `normalise` with `target` and what its address says (`allow`, `refuse: CODE`, or `dns` for a
// name), or `refuse` with `code` and `reason`. Nothing is looked up. A malformed line is refused with
// `request.invalid`. Never throws.
std::string answer_url(std::string_view line);

// The answer to a line that is longer than kMaxRequestLine.
std::string url_too_long();

}  // namespace gateway::cli
