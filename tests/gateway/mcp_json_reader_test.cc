#include "gateway/mcp/json_reader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using gateway::mcp::JsonFault;
using gateway::mcp::JsonLimits;
using gateway::mcp::read_json;

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(JsonReader, GivesBackWhatWasWritten) {
  for (const char* text : {"null", "true", "-1", "9007199254740992", "-9007199254740992", "1.5",
                           "\"\\u0000\"", "[]", R"({"a":[1,{"b":"\ud83d\ude00"}],"c":{}})"}) {
    const auto read = read_json(text);
    ASSERT_TRUE(read.value) << text << ": " << read.message;
    EXPECT_EQ(*read.value, nlohmann::json::parse(text));
  }
}

TEST(JsonReader, RefusesWhatIsNotStrictJson) {
  struct Row {
    std::string text;
    JsonFault fault;
  };
  const Row rows[] = {
      {"", JsonFault::syntax},
      {"   ", JsonFault::syntax},
      {"{", JsonFault::syntax},
      {"{}{}", JsonFault::syntax},
      {"{'a':1}", JsonFault::syntax},
      {"[1,]", JsonFault::syntax},
      {"{\"a\":1,}", JsonFault::syntax},
      {"01", JsonFault::syntax},
      {"+1", JsonFault::syntax},
      {"NaN", JsonFault::syntax},
      {"// c\n1", JsonFault::syntax},
      {"\"\x01\"", JsonFault::syntax},
      {"\"\\x41\"", JsonFault::syntax},
      {"\"\xff\"", JsonFault::syntax},
      {"\"\xc0\xaf\"", JsonFault::syntax},
      {"\"\xed\xa0\x80\"", JsonFault::syntax},
      {"\"\\ud800\"", JsonFault::syntax},
      {"\"\\udc00\\ud800\"", JsonFault::syntax},
      {"9007199254740993", JsonFault::number},
      {"-9007199254740993", JsonFault::number},
      {"123456789012345678901234567890", JsonFault::number},
      {"1e999", JsonFault::number},
      {R"({"a":1,"a":1})", JsonFault::duplicate_key},
      {R"({"x":{"a":1,"\u0061":2}})", JsonFault::duplicate_key},
      {repeated("[", 65) + repeated("]", 65), JsonFault::too_deep},
      {repeated("[", 10'000), JsonFault::too_deep},
      {repeated("{\"a\":", 10'000), JsonFault::too_deep},
      {"[" + repeated("[],", 200'000) + "1]", JsonFault::too_many},
      {"\"" + std::string((10 << 20) - 1, 'a') + "\"", JsonFault::too_large},
  };
  for (const auto& row : rows) {
    const auto read = read_json(row.text);
    EXPECT_FALSE(read.value) << row.text.substr(0, 60);
    EXPECT_EQ(read.fault, row.fault) << row.text.substr(0, 60) << ": " << read.message;
    EXPECT_NE(read.message, "");
  }
}

TEST(JsonReader, TakesWhatIsJustWithinTheLimits) {
  EXPECT_TRUE(read_json(repeated("[", 64) + repeated("]", 64)).value);
  EXPECT_TRUE(read_json("\"" + std::string((10 << 20) - 2, 'a') + "\"").value);
  EXPECT_TRUE(read_json("[" + repeated("1,", 199'998) + "1]").value);
}

TEST(JsonReader, SavesTheIdThatWasReadBeforeALimitWasBroken) {
  const auto read = read_json(R"({"id":"x","params":{"a":1,"a":2}})");
  ASSERT_TRUE(read.top_id);
  EXPECT_EQ(*read.top_id, "x");
  EXPECT_FALSE(read_json(R"({"id":1,"id":2})").top_id) << "which of the two is not known";
  EXPECT_FALSE(read_json(R"([{"id":1,"a":2,"a":3}])").top_id);
}

}  // namespace
