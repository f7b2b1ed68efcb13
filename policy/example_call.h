#pragma once

#include <bitset>
#include <optional>
#include <string>

#include "policy/region.h"
#include "policy/stated_question.h"

namespace policy {

// A whole question about one action with the values of a point; everything else is ordinary, and known.
// Nothing when there is no such call: when a path may not be written like that, for one.
class ExampleCall final {
 public:
  // `action` is the alternative of Action.
  static std::optional<ExampleCall> at(std::size_t action, const Point&);

  Question question() const { return {stated_.requests[which_], stated_.settings, {}}; }

 private:
  ExampleCall(StatedQuestion stated, std::size_t which) : stated_(std::move(stated)), which_(which) {}
  StatedQuestion stated_;
  std::size_t which_;
};

// `copy_in host_path=transfer:web/.env`
std::string spell_call(std::size_t action, const Point&);

Unseen unseen_facts(std::size_t action);

}  // namespace policy
