#pragma once

#include <string>

#include "policy/yaml.h"

namespace policy::yaml {

// A value on one line, as a person would write it inside a rule: `{ max: 10m }`, `[list, run]`. The reader
// takes it back as an equal tree, positions aside; text that would not read as itself gets quotes.
std::string flow(const Node&);
// The same without quotes where nothing is lost by it: for showing, and for statements of tests.
std::string statement(const Node&);

}  // namespace policy::yaml
