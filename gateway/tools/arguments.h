#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "gateway/tools/table.h"

namespace gateway::tools {

// The arguments of one call after they were checked against the tool's fields: every required one and every
// one with a default is there, of its type and within its bounds. Asking for anything else aborts.
class Arguments final {
 public:
  static policy::Result<Arguments> check(const Tool&, const nlohmann::json& given);

  bool has(std::string_view name) const { return values_.contains(name); }
  const std::string& text(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const;

 private:
  using Value = std::variant<std::string, std::int64_t, bool>;
  const Value& at(std::string_view name) const;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace gateway::tools
