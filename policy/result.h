#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace policy {

// An expected failure. `code` is stable and machine-readable (`limit.sandboxes`, `path.outside`,
// `vmrun.timeout`); `message` says in lower case what was refused and what to change, and never holds a
// secret, guest output or a host path the caller may not see; `where` is a position (`file:line:col`) or
// empty.
struct Error {
  std::string code;
  std::string message;
  std::string where = {};

  bool operator==(const Error&) const = default;
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string code, std::string message, std::string where = {}) {
  return tl::unexpected<Error>(Error{std::move(code), std::move(message), std::move(where)});
}

}  // namespace policy
