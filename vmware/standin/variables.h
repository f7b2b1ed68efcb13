#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace standin {

using policy::Result;

// What `writeVariable` set on a running machine, gone when it is powered off.
struct Variables {
  static constexpr std::size_t kMaxName = 256;
  static constexpr std::size_t kMaxValue = 64 << 10;
  static constexpr std::size_t kMaxTotal = 1 << 20;

  // By `guestVar` or `runtimeConfig`, a dot, and the name in lower case.
  std::map<std::string, std::string> values;

  // Code `variables` for a damaged file.
  static Result<Variables> parse(std::string_view bytes);
  std::string write() const;
  std::size_t total() const;
  bool operator==(const Variables&) const = default;
};

}  // namespace standin
