#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/diagnostic.h"

namespace policy {

// The text in its canonical layout: two blanks a level, lists one level in, one blank after `:` and `,`, one
// within braces, none within brackets unless they hold braces, at most one empty line, none at the ends, LF.
// Comments, quotes, order and line breaks stay. Never changes anything but white space, and not the meaning:
// the tree that the reader makes is compared, and where a line's layout would change it, the text keeps its
// own. Nothing, with a report, when the text is not YAML of this language.
std::optional<std::string> layout(std::string_view text, std::string_view file, Diagnostics& into);

}  // namespace policy
