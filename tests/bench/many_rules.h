#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/rule_program.h"

// Policies of any size and questions to them, for measuring.
namespace bench {

// `spread`: one rule for a subject and an action. `dense`: one subject, one action, a folder for each rule.
// `mixed`: as dense, with patterns that begin, go on and end with wildcards. `hosts`: one subject, and rules
// about the web with a host for each, or all names below it.
enum class Shape { spread, dense, mixed, hosts };
inline constexpr std::array<Shape, 4> kShapes{Shape::spread, Shape::dense, Shape::mixed, Shape::hosts};
std::string_view spelling(Shape);

// As many files as it takes: one holds at most 1 MiB. With `tests`, that many stand in them.
std::vector<policy::Source> policy_text(Shape, std::size_t rules, std::size_t tests = 0);
std::shared_ptr<const policy::RuleProgram> program(Shape, std::size_t rules);

// The folder that rule number `rule` of the shape `dense` allows.
std::string folder(std::size_t rule);

// Different questions in no order. Of ten, one is allowed by some rule; the others come near one or are far
// from all.
std::vector<policy::Request> questions(Shape, std::size_t rules, std::size_t count);

}  // namespace bench
