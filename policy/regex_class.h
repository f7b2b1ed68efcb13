#pragma once

#include <optional>
#include <string_view>

#include "policy/code_points.h"

// The classes of code points that regular expressions know by a name.
namespace policy {

// Of `d`, `s`, `w` and their opposites `D`, `S`, `W`. Nothing for another letter.
std::optional<CodePoints> class_of_escape(char letter);
// Of the name in `[:alpha:]`.
std::optional<CodePoints> class_of_name(std::string_view name);
// With each ASCII letter's other case, and the two code points beyond ASCII that fold to one of them.
CodePoints without_case(const CodePoints&);

}  // namespace policy
