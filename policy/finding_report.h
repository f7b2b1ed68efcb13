#pragma once

#include <span>
#include <string>

#include "policy/compile.h"
#include "policy/json.h"

// Findings for machines: what `policy check --format` prints.
namespace policy {

// { findings: [ { file, line, column, code, severity, message } ], digest? }; the digest stands there when
// the policy can be used.
Json findings_json(const Compiled&);

// The same as SARIF 2.1.0, which code review tools show beside the line.
Json findings_sarif(const Compiled&, std::string_view version);

}  // namespace policy
