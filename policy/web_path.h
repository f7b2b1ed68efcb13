#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace policy {

// The parts of a path that begins with `/`, decoded, up to a query; the empty one after a last slash is left
// out. Refused is what two servers could read as two paths: a part that is empty, `.` or `..` (encoded or
// not), `;`, `\`, an encoded slash or control byte, encoding that is broken, double, or not UTF-8. Code:
// ambiguous-path. If more were taken, a rule about `/v1/**` could let a request for `/admin` pass.
Result<std::vector<std::string>> path_segments(std::string_view path);

}  // namespace policy
