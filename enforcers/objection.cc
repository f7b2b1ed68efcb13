#include "enforcers/objection.h"

namespace enforcers {

policy::Objection objection_of(const policy::Error& error) {
  const auto semicolon = error.message.rfind("; ");
  if (semicolon == std::string::npos) return {.code = error.code, .reason = error.message, .hint = {}};
  return {.code = error.code,
          .reason = error.message.substr(0, semicolon),
          .hint = error.message.substr(semicolon + 2)};
}

}  // namespace enforcers
