#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace policy {

// A JSON value as the log and the action digests know it: no null, no floating point. Integers stay within
// ±(2^53 - 1), as RFC 8785 demands; canonical() aborts on one outside.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  Json() : value_(Object{}) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(std::uint64_t value) : value_(static_cast<std::int64_t>(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  const std::variant<bool, std::int64_t, std::string, Array, Object>& value() const { return value_; }
  Json& operator[](std::string_view key);  // makes the key; aborts on anything but an object
  const Json* find(std::string_view key) const;
  bool operator==(const Json&) const = default;

 private:
  std::variant<bool, std::int64_t, std::string, Array, Object> value_;
};

// The one byte string for a value (RFC 8785, JSON Canonicalization Scheme): keys sorted by UTF-16 code units,
// no blanks, shortest escapes. Bytes that are not UTF-8 come out as U+FFFD; a caller who must keep them
// encodes first.
std::string canonical(const Json&);
void canonical(const Json&, std::string& append_to);

// Appends `text` as a JSON string with quotes, escaped as canonical() does.
void canonical_string(std::string_view text, std::string& append_to);

// The order of member names: by UTF-16 code units. Both must be UTF-8.
bool canonical_less(std::string_view, std::string_view);

}  // namespace policy
