#include "audit/record.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "audit/reader.h"
#include "audit/text.h"
#include "tests/audit/requests.h"

namespace audit {
namespace {

using policy::Durability;
using policy::Effect;
using policy::Json;

const Redactor& redactor() {
  static const Redactor value("a key for tests, thirty-two bytes");
  return value;
}

std::string written(const Draft& draft) {
  Hasher hasher;
  std::string line;
  compose(draft,
          Stamp{"0a1b2c3d",
                7,
                std::string(64, 'a'),
                {},
                std::chrono::nanoseconds(5'000'000),
                "019d6c5e-b2a0-7007-8bce-000000000000"},
          hasher, line);
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  return line;
}

// The fields point into the line.
Fields fields_of(std::string&& line) = delete;
Fields fields_of(const std::string& line) {
  const auto fields = read_fields(line);
  EXPECT_TRUE(fields) << fields.error().message << " at " << fields.error().where << "\n"
                      << line.substr(0, 300);
  return fields.value_or(Fields{});
}

std::string clean(const Json& value, std::size_t bytes = 100'000) {
  std::string out;
  CleanWriter(redactor(), out).value(value, bytes);
  const auto back = read_value(out);
  EXPECT_TRUE(back) << out.substr(0, 300);
  if (back) {
    EXPECT_EQ(policy::canonical(*back), out);
  }
  return out;
}

TEST(Record, OfADecisionIsCanonicalAndSaysWhoWhatAndWhy) {
  auto d = requests::decision(requests::run("echo hi"), Effect::deny);
  d.request.id.parent = 3;
  d.hint = "ask first";
  d.unknown = {"host.label"};
  const auto line = written(draft(d, Durability::ordered, redactor()));
  const auto f = fields_of(line);
  EXPECT_EQ(f.act, "sandbox.run");
  EXPECT_EQ(f.ph, "req");
  EXPECT_EQ(f.lvl, "warn");
  EXPECT_EQ(f.dur, "ordered");
  EXPECT_EQ(f.call, requests::call().text());
  EXPECT_EQ(f.par, 3U);
  EXPECT_EQ(f.req, "17");
  EXPECT_EQ(f.sbx, requests::sandbox().text());
  EXPECT_EQ(f.ts, "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(f.mono, 5000);
  EXPECT_EQ(member_of(f.dec, "eff"), "\"deny\"");
  EXPECT_EQ(member_of(f.dec, "why"), "\"not here\"");
  EXPECT_EQ(member_of(f.dec, "hint"), "\"ask first\"");
  EXPECT_EQ(member_of(f.dec, "rule"), "\"run-in-own\"");
  EXPECT_EQ(member_of(f.dec, "unknown"), "[\"host.label\"]");
  EXPECT_EQ(member_of(f.sub, "id"), "\"uid:1000\"");
  EXPECT_EQ(member_of(f.sub, "pid"), "4242");
  EXPECT_EQ(member_of(member_of(f.sub, "client"), "name"), "\"claude-code\"");
  EXPECT_NE(f.obj.find("echo hi"), std::string_view::npos);
}

TEST(Record, OfADecisionSaysWhatWasTriedOutWaivedAndLabelled) {
  auto d = requests::decision(requests::run("echo hi"));
  d.waivers = {{"old", "user", "p.yaml:8:3"}, {"older", "org", ""}};
  d.shadow = {{{"try", "user", "p.yaml:3:5"}, Effect::deny, true},
              {{"also", "user", ""}, Effect::ask, false}};
  d.labels = {{"net-tainted", policy::Tier::org}, {"used", policy::Tier::user}};
  d.shadow_policy = {policy::sha256("other"), Effect::ask, {"q", "org", "c.yaml:9:3"}};
  const auto line = written(draft(d, Durability::ordered, redactor()));
  const auto f = fields_of(line);
  EXPECT_EQ(member_of(f.dec, "shadow"),
            R"([{"differs":true,"eff":"deny","rule":"try","src":"p.yaml:3:5","tier":"user"},)"
            R"({"differs":false,"eff":"ask","rule":"also","tier":"user"}])");
  EXPECT_EQ(member_of(f.dec, "labels"), R"(["net-tainted","used"])");
  EXPECT_EQ(member_of(f.dec, "waivers"), R"(["old","older"])");
  EXPECT_EQ(member_of(f.dec, "shadow_policy"), R"({"eff":"ask","pol":"sha256:)" +
                                                   policy::sha256("other").hex() +
                                                   R"(","rule":"q","src":"c.yaml:9:3","tier":"org"})");
  const auto back = read_value(f.dec);
  ASSERT_TRUE(back);
  EXPECT_EQ(policy::canonical(*back), f.dec);
}

TEST(Record, OfAnOutcomePointsAtItsDecision) {
  policy::Outcome outcome{true, "ok", 3, 10U, 20U, 1500, {}};
  outcome.details["name"] = "r.txt";
  const auto line =
      written(draft(policy::Receipt{"0a1b2c3d", 4, ""}, requests::run("x"), outcome, redactor()));
  const auto f = fields_of(line);
  EXPECT_EQ(f.ph, "res");
  EXPECT_EQ(f.ref, 4U);
  EXPECT_EQ(
      f.res,
      R"({"bytes_in":10,"bytes_out":20,"code":"ok","dur_us":1500,"exit":3,"more":{"name":"r.txt"},"ok":true})");
  EXPECT_EQ(f.sub, R"({"id":"uid:1000","kind":"stdio"})");
}

TEST(Record, OfAnEventWithoutASubjectIsOurs) {
  const auto line = written(draft(policy::Event{"policy.reload", "notice"}, redactor()));
  const auto f = fields_of(line);
  EXPECT_EQ(f.sub, R"({"id":"system","kind":"system"})");
}

TEST(Record, KeepsBytesThatAreNotUtf8) {
  EXPECT_EQ(clean(Json(std::string("a\xff\x00z", 4))), R"({"~b64":"Yf8Aeg=="})");
  EXPECT_EQ(clean(Json(Json::Object{{"k\xff", Json(1)}})), R"({"~b64:a/8=":1})");
}

TEST(Record, StaysBoundedWhateverIsAsked) {
  for (const char fill : {'a', '\x01', '\xff', '"'}) {
    for (const std::size_t size : {65'535U, 65'536U, 65'537U, 3'000'000U}) {
      auto d = requests::decision(requests::run(std::string(size, fill)));
      d.reason = d.hint = std::string(size, fill);
      d.matched.assign(1000, {std::string(1000, fill), std::string(1000, fill), std::string(1000, fill)});
      d.unknown.assign(1000, std::string(1000, fill));
      d.request.who.client_name = d.request.id.request = std::string(size, fill);
      const auto line = written(draft(d, Durability::durable, redactor()));
      EXPECT_LT(line.size(), kMaxLine);
      fields_of(line);
    }
  }
  Json::Array many(200'000, Json("x"));
  EXPECT_NE(clean(Json(many)).find("~cut"), std::string::npos);
  Json deep;
  for (int i = 0; i < 500; ++i) deep = Json(Json::Array{deep});
  EXPECT_NE(clean(deep).find("nested too deep"), std::string::npos);
}

TEST(Record, CutsALongTextWithItsSizeAndDigest) {
  const std::string text(70'000, 'x');
  const auto out = clean(Json(text));
  EXPECT_NE(out.find("\"bytes\":70000"), std::string::npos);
  EXPECT_NE(out.find(redactor().digest(text)), std::string::npos);
}

TEST(Record, ShowsNothingOfASecretThatTheCutSplits) {
  const std::string filler(256 * 1024 - 30, ' ');
  const auto out = clean(
      Json("password='" + std::string(200'000, 'k') + "' " + filler + "-----BEGIN PRIVATE KEY-----\nMII"));
  EXPECT_EQ(out.find("kkk"), std::string::npos);
  for (std::size_t shift = 0; shift < 60; shift += 3) {
    const auto split =
        clean(Json("password='" + std::string(240'000, 'k') + "' " + std::string(22'080 + shift, ' ') +
                   "password=hunter2hunter2hunter2 more" + std::string(9000, ' ')));
    EXPECT_EQ(split.find("hunter"), std::string::npos) << shift;
  }
}

TEST(Record, WritesNumbersThatJsonCannotHoldAsText) {
  EXPECT_EQ(clean(Json(std::int64_t{9007199254740991})), "9007199254740991");
  EXPECT_EQ(clean(Json(std::int64_t{9007199254740992})), "\"9007199254740992\"");
  EXPECT_EQ(clean(Json(std::int64_t{INT64_MIN})), "\"-9223372036854775808\"");
}

TEST(Record, NamesEveryActionDifferently) {
  std::set<std::string_view> names;
  const auto sbx = requests::sandbox();
  const auto job = policy::JobId::random();
  const auto host = *policy::HostPath::parse("a");
  const auto guest = *policy::GuestPath::parse("/a");
  const policy::Action all[] = {
      policy::Create{},
      policy::List{},
      policy::Run{sbx, "x", {}},
      policy::Start{sbx, "x"},
      policy::Check{sbx, job},
      policy::Stop{sbx, job},
      policy::CopyIn{sbx, host, guest, {}},
      policy::FetchOut{sbx, guest, host},
      policy::PublishOut{sbx, guest, host, {}},
      policy::Screenshot{sbx},
      policy::Click{sbx},
      policy::TypeText{sbx, "x"},
      policy::PressKey{sbx, "x"},
      policy::Extend{sbx, {}},
      policy::Destroy{sbx},
      policy::KillSwitch{},
      policy::Approve{},
      policy::BuildImage{"x"},
      policy::RemoveImage{"x"},
      policy::Vmrun{},
      policy::fetch_of(sbx, "GET", *policy::parse_url("http://example.org/")),
      policy::tunnel_of(sbx, *policy::Host::parse("example.org"), 443, policy::Tunnel::Sight::opaque)};
  static_assert(std::size(all) == std::variant_size_v<policy::Action>);
  for (const auto& action : all) {
    names.insert(act_of(action));
    EXPECT_TRUE(is_act(act_of(action)));
  }
  EXPECT_EQ(names.size(), std::size(all));
}

TEST(Record, EventNamesAreDottedLowerCase) {
  for (const auto* good : {"session.open", "a.b", "a.b_c.d2"}) EXPECT_TRUE(is_act(good)) << good;
  for (const auto* bad : {"", "a", ".a", "a.", "a..b", "A.b", "a.b c", "a.2b", "a._b"})
    EXPECT_FALSE(is_act(bad)) << bad;
  EXPECT_FALSE(is_act("a." + std::string(60, 'b')));
}

TEST(Record, TimeHasNineDigits) {
  using namespace std::chrono;
  EXPECT_EQ(timestamp(sys_time<nanoseconds>(nanoseconds(1'795'966'015'000'000'042))),
            "2026-11-29T15:26:55.000000042Z");
  EXPECT_EQ(timestamp(sys_days(2024y / 2 / 29) + 23h + 59min + 59s + 999'999'999ns),
            "2024-02-29T23:59:59.999999999Z");
}

TEST(Record, IdsAreUuidsOfVersionSeven) {
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto id =
        uuid_v7(std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::seconds(1'795'966'015)), i);
    EXPECT_EQ(id.size(), 36U);
    EXPECT_EQ(id[14], '7');
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos);
    EXPECT_EQ(id.substr(0, 13), "01a227ea-9618");
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace audit
