#include "policy/mapping.h"

#include <gtest/gtest.h>

#include <array>

#include "policy/units.h"

namespace policy {
namespace {

using std::chrono::seconds;

TEST(Units, ReadExactlyOneSpelling) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-17"), -17);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const auto* bad :
       {"", "-", "-0", "00", "01", "+1", "1 ", " 1", "1.0", "0x1", "9223372036854775808", "1e3"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
  EXPECT_EQ(parse_size("200MiB"), 200U << 20U);
  EXPECT_EQ(parse_size("1kB"), 1000U);
  EXPECT_EQ(parse_size("0B"), 0U);
  for (const auto* bad :
       {"", "200", "MiB", "200 MiB", "200mib", "200M", "-1B", "1.5GiB", "9000000TiB", "010B"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
  EXPECT_EQ(parse_duration("90s"), seconds(90));
  EXPECT_EQ(parse_duration("2h"), seconds(7200));
  EXPECT_EQ(parse_duration("1d"), seconds(86'400));
  for (const auto* bad : {"", "90", "s", "1h30m", "-1s", "5 m", "5min", "100000d", "1.5h"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  ASSERT_TRUE(parse_rate("300/1m"));
  EXPECT_EQ(parse_rate("300/1m")->count, 300);
  EXPECT_EQ(parse_rate("300/1m")->window, seconds(60));
  for (const auto* bad : {"", "300", "300/", "/1m", "300/m", "300/0s", "-1/1m"})
    EXPECT_FALSE(parse_rate(bad)) << bad;
}

TEST(Units, SpellWhatTheyRead) {
  for (const auto* size : {"0B", "1B", "999B", "1kB", "1KiB", "200MiB", "3GB", "1TiB"}) {
    EXPECT_EQ(parse_size(spell_size(*parse_size(size))), parse_size(size));
  }
  EXPECT_EQ(spell_size(200U << 20U), "200MiB");
  EXPECT_EQ(spell_duration(seconds(7200)), "2h");
  EXPECT_EQ(spell_duration(seconds(90)), "90s");
  EXPECT_EQ(spell_duration(seconds(0)), "0s");
}

constexpr std::array<std::string_view, 8> kKeys{"name", "on",   "count", "size",
                                                "wait", "list", "mode",  "other"};
constexpr std::array<std::string_view, 2> kModes{"fast", "safe"};

struct Settings {
  explicit Settings(std::string_view text) : root(yaml::read(text, "s.yaml", found).value()) {}
  Mapping mapping() { return Mapping(root, "settings", kKeys, {"s.yaml", &found}); }
  std::vector<std::string> messages() {
    std::vector<std::string> all;
    for (const auto& diagnostic : found.take()) all.push_back(diagnostic.format());
    return all;
  }
  Diagnostics found;
  yaml::Node root;
};

TEST(Mapping, GivesTypedValues) {
  Settings settings("name: x y\non: true\ncount: 3\nsize: 5MiB\nwait: 10m\nlist: [a, b]\nmode: safe\n");
  const auto mapping = settings.mapping();
  EXPECT_EQ(mapping.text("name"), "x y");
  EXPECT_EQ(mapping.boolean("on"), true);
  EXPECT_EQ(mapping.integer("count", 1, 5), 3);
  EXPECT_EQ(mapping.size("size"), 5U << 20U);
  EXPECT_EQ(mapping.duration("wait"), seconds(600));
  EXPECT_EQ(mapping.texts("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(mapping.texts("name"), std::vector<std::string>{"x y"});
  EXPECT_EQ(mapping.choice("mode", kModes), 1U);
  EXPECT_EQ(mapping.text("other"), std::nullopt);
  EXPECT_NE(mapping.require("name"), nullptr);
  EXPECT_TRUE(settings.messages().empty());
}

TEST(Mapping, SaysWhatIsWrongWithAValueAndWhere) {
  Settings settings("name: [x]\non: 'true'\ncount: 9\nsize: 5\nwait: soon\nlist: [a, {}]\nmode: saef\n");
  const auto mapping = settings.mapping();
  (void)mapping.text("name");
  (void)mapping.boolean("on");
  (void)mapping.integer("count", 1, 5);
  (void)mapping.size("size");
  (void)mapping.duration("wait");
  (void)mapping.texts("list");
  (void)mapping.choice("mode", kModes);
  EXPECT_EQ(
      settings.messages(),
      (std::vector<std::string>{
          "s.yaml:1:7: error[S0101]: `name` in settings must be text, not a list",
          "s.yaml:2:5: error[S0103]: `on` in settings must be `true` or `false`, without quotes, not `true`",
          "s.yaml:3:8: error[S0105]: `count` in settings must be from 1 to 5, not `9`",
          "s.yaml:4:7: error[S0106]: `size` in settings must be a size with its unit, like `200MiB`, not `5`",
          "s.yaml:5:7: error[S0107]: `wait` in settings must be a duration with its unit, like `90s` or "
          "`10m`, not `soon`",
          "s.yaml:6:11: error[S0101]: an item of `list` in settings must be text, not a map",
          "s.yaml:7:7: error[S0108]: `mode` in settings must be one of fast, safe, not `saef`; did you mean "
          "`safe`?",
      }));
}

TEST(Mapping, NamesUnknownAndMissingKeys) {
  Settings settings("nmae: x\nfar_from_all: z\n");
  const auto mapping = settings.mapping();
  EXPECT_EQ(mapping.require("size"), nullptr);
  EXPECT_EQ(settings.messages(),
            (std::vector<std::string>{
                "s.yaml:1:1: error[P0107]: unknown key `nmae` in settings; did you mean `name`?",
                "s.yaml:1:1: error[P0108]: settings needs the key `size`",
                "s.yaml:2:1: error[P0107]: unknown key `far_from_all` in settings",
            }));
}

TEST(Suggestion, IsTheNearestWithinTwoSlips) {
  const std::array<std::string_view, 4> words{"effect", "examples", "deny", "allow"};
  EXPECT_EQ(suggestion("efect", words), "; did you mean `effect`?");
  EXPECT_EQ(suggestion("alolw", words), "; did you mean `allow`?");
  EXPECT_EQ(suggestion("denyyy", words), "; did you mean `deny`?");
  EXPECT_EQ(suggestion("denyyyy", words), "");
  EXPECT_EQ(suggestion("xy", words), "");
  EXPECT_EQ(suggestion("", words), "");
  EXPECT_EQ(suggestion(std::string(100'000, 'a'), words), "");
}

TEST(Diagnostics, KeepErrorsWhenThereAreTooMany) {
  Diagnostics found;
  for (int i = 0; i < 300; ++i) found.warning("P0300", "f", {i + 1, 1}, "a warning");
  found.error("P0107", "f", {400, 1}, "an error");
  EXPECT_TRUE(found.has_errors());
  const auto taken = found.take();
  EXPECT_EQ(taken.size(), Diagnostics::kMax);
  EXPECT_EQ(taken.back().code, "P0107");
}

}  // namespace
}  // namespace policy
