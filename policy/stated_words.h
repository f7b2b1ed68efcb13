#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/anatomy.h"
#include "policy/stated_question.h"

// Questions stated outside of a policy file: on a command line, in a line of JSON.
namespace policy {

// Whether a word of a command line states something: `key=value`, or a map in braces.
bool is_statement(std::string_view word);

// The statements as the map that a test would hold. Keys within `sandbox` and `settings` are written with a
// dot: `sandbox.labels=a,b`. Text is taken as it is; `unknown` withholds a fact. Reports what is malformed.
std::optional<yaml::Node> read_statements(std::span<const std::string> words, const ReadInto&);

// `text` as the value of a key in such a map: quoted where the key takes text, so that nothing in it means
// anything else. `key` may have a dot.
yaml::Node stated_value(std::string_view key, std::string_view text);
// A fact that is withheld.
yaml::Node unknown_value();

// Adds an entry; false when the map has the key already. `key` may have a dot.
bool state(yaml::Node& map, std::string_view key, yaml::Node value);

// Sets those settings that the map does not state to what they are.
void assume_settings(StatedQuestion&, const yaml::Node& map, const Facts& settings);

}  // namespace policy
