#include "gateway/tools/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/mcp/json_reader.h"
#include "gateway/mcp/utf8.h"

namespace gateway::tools {
namespace {

using nlohmann::json;
using policy::fail;
using policy::Result;

constexpr double kMaxExact = 9007199254740992.0;  // 2^53
constexpr std::size_t kMaxStringified = 64;       // a number or boolean as text
constexpr std::size_t kMaxListedName = 64;

std::string expected(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer: {
      std::string text = "an integer";
      if (field.minimum && field.maximum) {
        text += " from " + std::to_string(*field.minimum) + " to " + std::to_string(*field.maximum);
      } else if (field.minimum) {
        text += " of at least " + std::to_string(*field.minimum);
      }
      return text;
    }
    case FieldType::string: {
      if (field.choices.empty()) return "a string";
      std::string text = "one of";
      for (const auto choice : field.choices) {
        text += (text.size() > 6 ? ", `" : " `") + std::string(choice) + "`";
      }
      return text;
    }
    case FieldType::strings:
    case FieldType::counts:
    case FieldType::objects:
      break;
  }
  std::fprintf(stderr, "sallyport: a tool has an argument of a type that no argument may have\n");
  std::abort();
}

// `argument.type`: ``x` must be ...; got ...`
tl::unexpected<policy::Error> refuse(std::string_view what, const Field& field, std::string_view got) {
  const std::string name(field.name);
  return fail("argument." + std::string(what),
              "`" + name + "` must be " + expected(field) + "; got " + std::string(got), name);
}

std::string kind_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return "a boolean";
    case json::value_t::string:
      return "a string";
    case json::value_t::array:
      return "an array";
    case json::value_t::object:
      return "an object";
    default:
      return "a number";
  }
}

// Some clients send numbers and booleans as text: taken when the text is exactly one JSON value.
json unwrapped(const json& value) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMaxStringified) return value;
  const auto read = mcp::read_json(text);
  return read.value && (read.value->is_number() || read.value->is_boolean()) ? *read.value : value;
}

Result<std::string> text_from(const Field& field, const json& value) {
  if (!value.is_string()) return refuse("type", field, kind_of(value));
  const auto& text = value.get_ref<const std::string&>();
  if (!field.choices.empty() && std::ranges::find(field.choices, text) == field.choices.end()) {
    return refuse("choice", field, "another string");
  }
  const std::string name(field.name);
  if (field.max_length != 0) {
    const std::size_t length = mcp::utf8_count(text);
    if (length > field.max_length) {
      return fail("argument.too_long",
                  "`" + name + "` may have at most " + std::to_string(field.max_length) +
                      " characters; got " + std::to_string(length),
                  name);
    }
  }
  if (text.find('\0') != std::string::npos) {
    return fail("argument.character", "`" + name + "` must not hold a NUL character", name);
  }
  return text;
}

Result<std::int64_t> integer_from(const Field& field, const json& given) {
  const json value = unwrapped(given);
  std::int64_t number = 0;
  if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const double real = value.get<double>();
    if (real != std::floor(real) || std::abs(real) > kMaxExact) return refuse("type", field, "a fraction");
    number = static_cast<std::int64_t>(real);
  } else {
    return refuse("type", field, kind_of(value));
  }
  if ((field.minimum && number < *field.minimum) || (field.maximum && number > *field.maximum)) {
    return refuse("range", field, std::to_string(number));
  }
  return number;
}

Result<bool> flag_from(const Field& field, const json& given) {
  const json value = unwrapped(given);
  if (!value.is_boolean()) return refuse("type", field, kind_of(value));
  return value.get<bool>();
}

tl::unexpected<policy::Error> unknown(const Tool& tool, std::string_view name) {
  std::string known;
  for (const auto& field : tool.fields)
    known += (known.empty() ? "`" : ", `") + std::string(field.name) + "`";
  const std::string shown(mcp::utf8_prefix(name, kMaxListedName));
  return fail("argument.unknown",
              "`" + std::string(tool.name) + "` has no argument `" + shown + "`; it takes " +
                  (known.empty() ? std::string("none") : known),
              shown);
}

}  // namespace

Result<Arguments> Arguments::check(const Tool& tool, const json& given) {
  if (!given.is_object())
    return fail("argument.type", "the arguments must be an object; got " + kind_of(given));
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(tool.fields, name, &Field::name) == tool.fields.end()) return unknown(tool, name);
  }
  Arguments checked;
  for (const auto& field : tool.fields) {
    const auto at = given.find(field.name);
    json value = at == given.end() ? json() : *at;
    if (value.is_null() && field.presence == Presence::required) {
      const std::string name(field.name);
      return fail("argument.missing", "`" + name + "` is missing; it must be " + expected(field), name);
    }
    if (value.is_null() && !field.default_value.empty()) value = json::parse(field.default_value);
    if (value.is_null()) continue;
    const auto keep = [&](auto result) -> Result<> {
      if (!result) return tl::unexpected(result.error());
      checked.values_.emplace(field.name, std::move(*result));
      return {};
    };
    Result<> kept;
    if (field.type == FieldType::integer) {
      kept = keep(integer_from(field, value));
    } else if (field.type == FieldType::boolean) {
      kept = keep(flag_from(field, value));
    } else {
      kept = keep(text_from(field, value));
    }
    if (!kept) return tl::unexpected(kept.error());
  }
  return checked;
}

const Arguments::Value& Arguments::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    std::fprintf(stderr, "sallyport: a decoder asked for an argument its tool does not have\n");
    std::abort();
  }
  return found->second;
}

const std::string& Arguments::text(std::string_view name) const { return std::get<std::string>(at(name)); }
std::int64_t Arguments::integer(std::string_view name) const { return std::get<std::int64_t>(at(name)); }
bool Arguments::flag(std::string_view name) const { return std::get<bool>(at(name)); }

}  // namespace gateway::tools
