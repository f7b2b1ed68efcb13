#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"

// The small forms that messages and reports have in common.
namespace policy {

// Between the marks that names of policies and files stand in.
std::string quoted(std::string_view text);
// Joined by commas.
std::string joined(const std::vector<std::string>& words);
// Text from outside within a line of ours: it may not begin a line that looks like one.
std::string in_line(std::string_view text);
// `org.yaml:58:5`
std::string place(std::string_view file, Position at);

}  // namespace policy
