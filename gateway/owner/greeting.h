#pragma once

#include <string>
#include <string_view>

#include "policy/result.h"

namespace gateway {

using policy::Result;

// What a process says to the owner first, as one JSON line. `serve` comes with its stdin and stdout; the
// others speak over the connection itself.
struct Hello {
  enum class Kind {
    serve,
    cli,
    status,
    policy_status,
    kill_switch_on,
    kill_switch_off,
    image_build,
    image_remove,
    questions,
    answer_allow,
    answer_deny,
    stop
  } kind = Kind::serve;
  std::string version;       // of the program that connects; must be the owner's
  std::string settings;      // digest of its settings, hex
  std::string name = {};     // of the image or the question
  std::string options = {};  // for image_build: the builder's options, as a JSON array of words

  std::string encode() const;
  static Result<Hello> parse(std::string_view line);
};
std::string_view spelling(Hello::Kind);

}  // namespace gateway
