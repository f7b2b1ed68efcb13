#pragma once

#include <string>
#include <string_view>

namespace mcp_test {

// Empty when `value` (JSON) is what the revision's schema calls `definition`, else what is wrong.
std::string fault_against(std::string_view revision, std::string_view definition, std::string_view value);

// The same for any schema, both as JSON.
std::string fault_in(std::string_view schema, std::string_view value);

// Empty when the line is a message that the revision lets a server send in answer to `method`.
std::string fault_in_line(std::string_view revision, std::string_view method, std::string_view line);

std::string read_file(const std::string& path);

}  // namespace mcp_test
