#include "policy/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace policy {
namespace {

using nlohmann::json;

json vectors() {
  std::ifstream in(std::string(SALLYPORT_SOURCE_DIR) + "/tests/data/audit/jcs-vectors.json");
  return json::parse(in);
}

// The value as the log can hold it; empty when it needs null or a fraction, which our type cannot express.
std::optional<Json> representable(const json& value) {
  if (value.is_boolean()) return Json(value.get<bool>());
  if (value.is_string()) return Json(value.get<std::string>());
  if (value.is_number()) {
    const double number = value.get<double>();
    if (number != std::trunc(number) || std::abs(number) >= 9007199254740992.0) return std::nullopt;
    return Json(static_cast<std::int64_t>(number));
  }
  if (value.is_array()) {
    Json::Array out;
    for (const auto& item : value) {
      auto member = representable(item);
      if (!member) return std::nullopt;
      out.push_back(std::move(*member));
    }
    return Json(std::move(out));
  }
  if (value.is_object()) {
    Json::Object out;
    for (const auto& [key, item] : value.items()) {
      auto member = representable(item);
      if (!member) return std::nullopt;
      out.emplace(key, std::move(*member));
    }
    return Json(std::move(out));
  }
  return std::nullopt;
}

TEST(CanonicalJson, EqualsThePublishedVectorsThatNeedNeitherNullNorFractions) {
  std::set<std::string> compared;
  const json published = vectors();
  for (const auto& pair : published["files"]) {
    const auto value = representable(json::parse(pair["input_utf8"].get<std::string>()));
    if (!value) continue;
    EXPECT_EQ(canonical(*value), pair["output_utf8"].get<std::string>()) << pair["name"];
    compared.insert(pair["name"].get<std::string>());
  }
  EXPECT_EQ(compared, (std::set<std::string>{"french", "structures", "unicode", "weird"}));
}

TEST(CanonicalJson, WritesTheIntegersOfTheNumberVectors) {
  int compared = 0;
  const json published = vectors();
  for (const auto& pair : published["numbers"]) {
    const std::uint64_t bits = std::stoull(pair[0].get<std::string>(), nullptr, 16);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number) || number != std::trunc(number) || std::abs(number) >= 9007199254740992.0)
      continue;
    EXPECT_EQ(canonical(Json(static_cast<std::int64_t>(number))), pair[1].get<std::string>());
    ++compared;
  }
  EXPECT_GE(compared, 2);
  EXPECT_EQ(canonical(Json(std::int64_t{9007199254740991})), "9007199254740991");
  EXPECT_EQ(canonical(Json(std::int64_t{-9007199254740991})), "-9007199254740991");
}

TEST(CanonicalJson, SortsMembersByUtf16CodeUnits) {
  const json order = vectors()["order"];
  const auto value = representable(json::parse(order["input_utf8"].get<std::string>()));
  ASSERT_TRUE(value);
  EXPECT_EQ(canonical(*value), order["output_utf8"].get<std::string>());

  // One name of each stretch of the code space, in the order of their UTF-16 code units.
  const std::string names[] = {"",
                               "A",
                               "a",
                               "a\xC2\x80",
                               "b",
                               "\xC3\xA9",
                               "\xE2\x82\xAC",
                               "\xED\x9F\xBF",
                               "\xF0\x90\x80\x80",
                               "\xF0\x9F\x98\x80",
                               "\xF4\x8F\xBF\xBF",
                               "\xEE\x80\x80",
                               "\xEF\xAC\xB3",
                               "\xEF\xBF\xBF"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    for (std::size_t j = 0; j < std::size(names); ++j) {
      EXPECT_EQ(canonical_less(names[i], names[j]), i < j) << i << " " << j;
    }
  }
}

TEST(CanonicalJson, ReplacesEachByteThatIsNotUtf8) {
  const json published = vectors();
  for (const auto& vector : published["reject"]) {
    if (!vector.contains("input_hex")) continue;
    const auto hex = vector["input_hex"].get<std::string>();
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    const auto text = canonical(Json(bytes));
    EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos) << vector["why"];
    EXPECT_TRUE(json::accept(text)) << vector["why"];
  }
  EXPECT_EQ(canonical(Json(std::string("a\xED\xA0\x80z"))), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"");
  EXPECT_EQ(canonical(Json(std::string("cut \xE2\x82"))), "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(CanonicalJson, EscapesAsShortAsItMay) {
  std::string all;
  for (int c = 0; c < 0x80; ++c) all.push_back(static_cast<char>(c));
  const auto text = canonical(Json(all));
  EXPECT_EQ(json::parse(text).get<std::string>(), all);
  EXPECT_NE(text.find("\\u0000\\u0001"), std::string::npos);
  EXPECT_NE(text.find("\\b\\t\\n\\u000b\\f\\r\\u000e"), std::string::npos);
  EXPECT_NE(text.find("/"), std::string::npos);
  EXPECT_EQ(text.find("\\/"), std::string::npos);
  EXPECT_EQ(text[text.size() - 2], '\x7f');
}

TEST(CanonicalJsonDeathTest, AbortsOnAnIntegerThatADoubleCannotHold) {
  EXPECT_DEATH((void)canonical(Json(std::int64_t{9007199254740992})), "2\\^53");
}

}  // namespace
}  // namespace policy
