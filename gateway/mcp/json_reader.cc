#include "gateway/mcp/json_reader.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace gateway::mcp {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

// Builds the document from the library's parse events; the first event that breaks a rule ends the parse.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override {
    return value < -kMaxInteger ? inexact() : add(value) != nullptr;
  }
  bool number_unsigned(number_unsigned_t value) override {
    return value > static_cast<std::uint64_t>(kMaxInteger) ? inexact() : add(value) != nullptr;
  }
  bool number_float(number_float_t value, const string_t& text) override {
    // An integer too long for 64 bits arrives here.
    if (text.find_first_of(".eE") == std::string::npos) return inexact();
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return fail(JsonFault::syntax, "binary data is not JSON"); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    auto& object = open_.back()->get_ref<json::object_t&>();
    auto [at, inserted] = object.try_emplace(std::move(name));
    if (!inserted) {
      ambiguous_id_ = open_.size() == 1 && at->first == "id";
      return fail(JsonFault::duplicate_key, "an object holds the same key twice");
    }
    member_ = &at->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // 406: a number that no double can hold.
    if (error.id == 406) return inexact();
    return fail(JsonFault::syntax, "not JSON in UTF-8: wrong at byte " + std::to_string(position));
  }

  JsonRead take() && {
    JsonRead read;
    if (failed_) {
      read.fault = fault_;
      read.message = std::move(message_);
      const auto id = root_.is_object() && !ambiguous_id_ ? root_.find("id") : root_.end();
      if (id != root_.end() && (id->is_string() || id->is_number_integer())) {
        read.top_id = std::make_shared<const json>(std::move(*id));
      }
    } else {
      read.value = std::make_shared<const json>(std::move(root_));
    }
    return read;
  }
  bool fail(JsonFault fault, std::string message) {
    failed_ = true;
    fault_ = fault;
    message_ = std::move(message);
    return false;
  }

 private:
  bool inexact() { return fail(JsonFault::number, "a number is too large to be kept exactly"); }

  // Null when the document holds too many values.
  json* add(json value) {
    if (++values_ > limits_.values) {
      fail(JsonFault::too_many, "more than " + std::to_string(limits_.values) + " values in one message");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& array = open_.back()->get_ref<json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    *member_ = std::move(value);
    return member_;
  }
  bool open(json container) {
    if (open_.size() == limits_.depth) {
      return fail(JsonFault::too_deep, "nested deeper than " + std::to_string(limits_.depth));
    }
    json* added = add(std::move(container));
    if (added == nullptr) return false;
    open_.push_back(added);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  json root_;
  // Containers not yet closed. A container's address is stable while it is open: nothing is added to its
  // parent meanwhile.
  std::vector<json*> open_;
  json* member_ = nullptr;  // where the value of the last key goes
  std::size_t values_ = 0;
  bool failed_ = false;
  bool ambiguous_id_ = false;
  JsonFault fault_ = JsonFault::syntax;
  std::string message_;
};

}  // namespace

JsonRead read_json(std::string_view text, const JsonLimits& limits) {
  Builder builder(limits);
  if (text.size() > limits.bytes) {
    builder.fail(JsonFault::too_large, "longer than " + std::to_string(limits.bytes) + " bytes");
  } else {
    json::sax_parse(text.begin(), text.end(), &builder);
  }
  return std::move(builder).take();
}

}  // namespace gateway::mcp
