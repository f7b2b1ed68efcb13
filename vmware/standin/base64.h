#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace standin {

// RFC 4648 with padding.
std::string base64_encode(std::string_view bytes);
// Nothing when the text is not exactly that.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace standin
