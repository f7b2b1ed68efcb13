#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "gateway/approval/desk.h"

namespace gateway {

// What a person is shown of a question in his client: all of what would be approved, on one line of JSON in
// printable ASCII, so that nothing in it can begin a line, turn the direction of writing, push words out of
// sight with blanks, or look like other letters. Nothing when that is longer than a dialog can show: what is
// cut must not be agreed to.
std::optional<std::string> dialog_text(const Question&, std::chrono::seconds left);

}  // namespace gateway
