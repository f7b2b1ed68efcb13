#include "audit/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "audit/reader.h"
#include "audit/verify.h"
#include "tests/audit/requests.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/faulty_disk.h"

namespace audit {
namespace {

using policy::Durability;
using policy::Effect;

class LogTest : public ::testing::Test {
 protected:
  std::unique_ptr<Log> open(LogOptions options = {}) {
    return std::make_unique<Log>(std::make_unique<fakes::FaultyDisk>(platter_), clock_, std::move(options));
  }
  VerifyReport check(const VerifyOptions& options = {}) {
    fakes::FaultyDisk disk(platter_);
    return verify(disk, options);
  }
  std::vector<std::string> segments() const {
    std::vector<std::string> out;
    for (const auto& name : platter_->names())
      if (name.starts_with("audit-")) out.push_back(name);
    return out;
  }
  // All lines of all segments.
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < segments().size(); ++i) {
      const auto name = segments()[0].substr(0, 15) + std::to_string(i) + ".jsonl";
      const auto bytes = platter_->bytes(name);
      for (std::size_t at = 0; at < bytes.size();) {
        const auto end = bytes.find('\n', at);
        out.push_back(bytes.substr(at, end - at));
        at = end == std::string::npos ? bytes.size() : end + 1;
      }
    }
    return out;
  }
  Fields fields(std::size_t i) {
    held_ = lines();
    EXPECT_LT(i, held_.size());
    if (i >= held_.size()) return {};
    const auto out = read_fields(held_[i]);
    EXPECT_TRUE(out) << held_[i];
    return out.value_or(Fields{});
  }

  std::shared_ptr<fakes::Platter> platter_ = std::make_shared<fakes::Platter>();
  fakes::FakeClock clock_;
  std::vector<std::string> held_;
};

TEST_F(LogTest, TouchesNothingBeforeTheFirstRecord) {
  auto log = open();
  EXPECT_TRUE(platter_->names().empty());
  EXPECT_FALSE(log->last());
  ASSERT_TRUE(log->note({"session.open"}));
  EXPECT_EQ(segments().size(), 1U);
}

TEST_F(LogTest, BeginsWithItsOwnOpeningAndChainsFromThere) {
  LogOptions options;
  options.policy = "sha256:abc";
  auto log = open(options);
  const auto decided = requests::append(*log, requests::decision(requests::run("true")));
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->seq, 1U);
  const auto ended = log->close(*decided, requests::run("true"), {true, "ok", 0});
  ASSERT_TRUE(ended);
  EXPECT_EQ(log->last()->hash, ended->hash);
  log.reset();
  EXPECT_EQ(fields(0).act, "log.open");
  EXPECT_NE(fields(0).obj.find("\"deployment\":\"personal\""), std::string_view::npos);
  EXPECT_NE(fields(0).obj.find("\"policy\":\"sha256:abc\""), std::string_view::npos);
  EXPECT_EQ(fields(2).ref, 1U);
  const auto report = check();
  EXPECT_EQ(report.verdict, Verdict::good) << to_text(report);
  EXPECT_EQ(report.records, 3U);
}

TEST_F(LogTest, DurableIsAnsweredOnlyOnceItIsOnDisk) {
  auto log = open();
  const auto stands = requests::append(*log, requests::decision(requests::run("true")), Durability::durable);
  ASSERT_TRUE(stands);
  platter_->lose_power();
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(LogTest, OrderedIsOnDiskWithinItsTime) {
  auto log = open();
  ASSERT_TRUE(log->note({"session.open"}));
  for (int i = 0; i < 200 && platter_->syncs() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  platter_->lose_power();
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(LogTest, OneFlushServesManyCallers) {
  auto log = open();
  ASSERT_TRUE(log->note({"session.open"}));
  constexpr int kCallers = 64, kEach = 20;
  std::atomic<int> good = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < kEach; ++i) {
        const auto request = requests::run("true", c * kEach + i);
        const auto stands = requests::append(*log, requests::decision(request), Durability::durable);
        if (stands && log->close(*stands, request, {true, "ok"})) ++good;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(good, kCallers * kEach);
  log.reset();
  const auto report = check();
  EXPECT_EQ(report.verdict, Verdict::good) << to_text(report);
  EXPECT_EQ(report.records, 2U + 2U * kCallers * kEach);
  EXPECT_EQ(report.unfinished, 0U);
}

TEST_F(LogTest, EverythingThatWaitsSharesTheNextFlush) {
  auto log = open();
  ASSERT_TRUE(log->note({"session.open"}));
  ASSERT_TRUE(log->flush());
  const int before = platter_->syncs();
  std::atomic<int> done = 0;
  const auto count = [&](policy::Result<policy::Receipt> result) { done += result ? 1 : 0; };
  platter_->hold_syncs();
  log->append(requests::decision(requests::run("true")), Durability::durable, count);
  ASSERT_TRUE(platter_->in_sync());
  for (int i = 0; i < 500; ++i)
    log->append(requests::decision(requests::run("true", i)), Durability::durable, count);
  EXPECT_EQ(done, 0) << "nothing is acknowledged before its flush";
  platter_->release_syncs();
  log.reset();
  EXPECT_EQ(done, 501);
  EXPECT_EQ(platter_->syncs() - before, 2);
}

TEST_F(LogTest, ACompletionMayUseTheLog) {
  auto log = open();
  std::promise<policy::Result<policy::Receipt>> promise;
  const auto request = requests::run("true");
  log->append(requests::decision(request), Durability::durable, [&](policy::Result<policy::Receipt> stands) {
    promise.set_value(log->close(*stands, request, {true, "ok"}));
  });
  EXPECT_TRUE(promise.get_future().get());
}

TEST_F(LogTest, RefusesASecondOutcomeAndOneForWhatWasNotAllowed) {
  auto log = open();
  const auto request = requests::run("true");
  const auto allowed = requests::append(*log, requests::decision(request));
  const auto denied = requests::append(*log, requests::decision(request, Effect::deny));
  EXPECT_TRUE(log->close(*allowed, request, {true, "ok"}));
  EXPECT_EQ(log->close(*allowed, request, {true, "ok"}).error().code, "audit.outcome_twice");
  EXPECT_EQ(log->close(*denied, request, {true, "ok"}).error().code, "audit.outcome_twice");
  EXPECT_EQ(log->close({"00000000", allowed->seq, ""}, request, {true, "ok"}).error().code,
            "audit.outcome_twice");
}

TEST_F(LogTest, RefusesEventsThatPretendToBeTheLogs) {
  auto log = open();
  EXPECT_EQ(log->note({"log.gap"}).error().code, "audit.event");
  EXPECT_EQ(log->note({"Bad"}).error().code, "audit.event");
  EXPECT_EQ(log->note({"session.open", "loud"}).error().code, "audit.event");
}

TEST_F(LogTest, BoundsTheActionsUnderWay) {
  auto log = open();
  policy::Result<policy::Receipt> last = policy::Receipt{};
  int allowed = 0;
  while (allowed < 5000) {
    last = requests::append(*log, requests::decision(requests::run("true", allowed)));
    if (!last) break;
    ++allowed;
  }
  EXPECT_EQ(allowed, 1024);
  EXPECT_EQ(last.error().code, "audit.busy");
  EXPECT_TRUE(requests::append(*log, requests::decision(requests::run("true"), Effect::deny)));
}

TEST_F(LogTest, GoesOnWhereTheLastProcessStopped) {
  for (int i = 0; i < 3; ++i) {
    auto log = open();
    ASSERT_TRUE(log->note({"session.open"}));
  }
  const auto report = check();
  EXPECT_EQ(report.verdict, Verdict::good) << to_text(report);
  EXPECT_EQ(report.records, 6U);
  EXPECT_EQ(report.segments, 1U);
  EXPECT_NE(fields(2).obj.find("\"why\":\"start\""), std::string_view::npos);
}

TEST_F(LogTest, BeginsANewSegmentWhenOneIsFull) {
  LogOptions options;
  options.segment_bytes = 3000;
  auto log = open(options);
  const auto request = requests::run("true");
  const auto under_way = requests::append(*log, requests::decision(request));
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(log->note({"session.open"}));
  EXPECT_GT(segments().size(), 3U);
  ASSERT_TRUE(log->close(*under_way, request, {true, "ok"}));
  log.reset();
  auto report = check();
  EXPECT_EQ(report.verdict, Verdict::good) << to_text(report);
  EXPECT_EQ(report.segments, segments().size());

  auto again = open(options);
  ASSERT_TRUE(again->note({"session.open"}));
  again.reset();
  EXPECT_EQ(check().verdict, Verdict::good);
}

TEST_F(LogTest, RecordsLostOutcomesAtTheNextStart) {
  LogOptions options;
  options.segment_bytes = 3000;
  {
    auto log = open(options);
    ASSERT_TRUE(requests::append(*log, requests::decision(requests::run("sleep 9", 1))));
    ASSERT_TRUE(requests::append(*log, requests::decision(requests::run("sleep 9", 2), Effect::deny)));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(log->note({"session.open"}));
    ASSERT_TRUE(requests::append(*log, requests::decision(requests::run("sleep 9", 3))));
  }
  ASSERT_GT(segments().size(), 2U);
  EXPECT_EQ(check().unfinished, 2U);
  {
    auto log = open(options);
    ASSERT_TRUE(log->note({"session.open"}));
  }
  const auto report = check();
  EXPECT_EQ(report.verdict, Verdict::warnings) << to_text(report);
  EXPECT_EQ(report.lost, 2U);
  EXPECT_EQ(report.unfinished, 0U);
  int found = 0;
  for (const auto& line : lines()) {
    if (line.find("\"code\":\"lost\"") == std::string::npos) continue;
    EXPECT_NE(line.find(requests::call(found == 0 ? 1 : 3).text()), std::string::npos) << line;
    EXPECT_NE(line.find("sandbox.run"), std::string::npos);
    ++found;
  }
  EXPECT_EQ(found, 2);
}

TEST_F(LogTest, MovesATornTailAsideAndSaysSo) {
  {
    auto log = open();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->note({"session.open"}));
  }
  const auto name = segments().at(0);
  const auto whole = platter_->bytes(name);
  const auto last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t cut = last + 1; cut < whole.size(); cut += 7) {
    platter_ = std::make_shared<fakes::Platter>();
    platter_->put(name, whole.substr(0, cut));
    EXPECT_EQ(check().verdict, Verdict::warnings);
    {
      auto log = open();
      ASSERT_TRUE(log->note({"session.close"}));
    }
    EXPECT_EQ(platter_->bytes("torn/" + name + "." + std::to_string(last)), whole.substr(last, cut - last));
    const auto report = check();
    EXPECT_EQ(report.verdict, Verdict::warnings) << to_text(report);
    ASSERT_EQ(lines().size(), 6U);
    EXPECT_EQ(fields(4).act, "log.gap");
    EXPECT_EQ(member_of(fields(4).obj, "bytes"), std::to_string(cut - last));
    EXPECT_EQ(member_of(fields(4).obj, "sha256"),
              "\"" + policy::sha256(whole.substr(last, cut - last)).hex() + "\"");
  }
}

TEST_F(LogTest, SurvivesAPowerCutAtAnyByteOfTheFirstRecords) {
  for (std::size_t kept = 0; kept < 1500; kept += 41) {
    platter_ = std::make_shared<fakes::Platter>();
    {
      LogOptions slow;
      slow.flush_within = std::chrono::hours(1);
      auto log = open(slow);
      ASSERT_TRUE(log->note({"session.open"}));
      ASSERT_TRUE(log->note({"session.open"}));
      platter_->lose_power(kept);
    }
    auto log = open();
    ASSERT_TRUE(log->note({"session.close"})) << kept;
    log.reset();
    const auto report = check();
    EXPECT_TRUE(report.verdict == Verdict::good || report.verdict == Verdict::warnings)
        << kept << to_text(report);
  }
}

TEST_F(LogTest, RefusesToGoOnBehindDamageThatNoCrashLeaves) {
  {
    auto log = open();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(log->note({"session.open"}));
  }
  auto bytes = platter_->bytes(segments().at(0));
  bytes[bytes.find("session")] ^= 1;
  platter_->put(segments().at(0), bytes);
  auto log = open();
  EXPECT_EQ(log->note({"session.open"}).error().code, "audit.damaged");
  EXPECT_EQ(platter_->bytes(segments().at(0)), bytes);
}

TEST_F(LogTest, UndoesAWriteThatFailsAndGoesOnOnceThereIsRoom) {
  auto log = open();
  const auto request = requests::run("true");
  const auto allowed = requests::append(*log, requests::decision(request));
  for (const std::size_t part : {0U, 1U, 100U}) {
    platter_->fail_writes(0, part);
    const auto before = platter_->bytes(segments().at(0));
    EXPECT_EQ(requests::append(*log, requests::decision(request), Durability::durable).error().code,
              "audit.write");
    EXPECT_EQ(log->close(*allowed, request, {true, "ok"}).error().code, "audit.write");
    EXPECT_EQ(platter_->bytes(segments().at(0)), before);
    EXPECT_FALSE(log->refused());
    platter_->repair();
    EXPECT_TRUE(requests::append(*log, requests::decision(request, Effect::deny), Durability::durable));
  }
  EXPECT_TRUE(log->close(*allowed, request, {true, "ok"}));
  log.reset();
  EXPECT_EQ(check().verdict, Verdict::good);
}

TEST_F(LogTest, StartsAgainAfterAFullDiskAtTheVeryFirstRecord) {
  for (int after = 0; after < 3; ++after) {
    platter_ = std::make_shared<fakes::Platter>();
    platter_->fail_writes(after, 5);
    auto log = open();
    EXPECT_FALSE(log->note({"session.open"})) << after;
    platter_->repair();
    EXPECT_TRUE(log->note({"session.open"})) << after;
    log.reset();
    EXPECT_EQ(check().verdict, Verdict::good) << after << to_text(check());
  }
}

TEST_F(LogTest, AFailedRotationLosesNothing) {
  LogOptions options;
  options.segment_bytes = 1500;
  auto log = open(options);
  while (platter_->bytes(segments().empty() ? "" : segments()[0]).size() < 1500)
    ASSERT_TRUE(log->note({"session.open"}));
  platter_->fail_writes(0, 10);
  EXPECT_FALSE(log->note({"session.open"}));
  platter_->repair();
  EXPECT_TRUE(log->note({"session.open"}));
  log.reset();
  EXPECT_EQ(segments().size(), 2U);
  EXPECT_EQ(check().verdict, Verdict::good) << to_text(check());
}

TEST_F(LogTest, EndsWhenAFailedWriteCannotBeUndone) {
  auto log = open();
  ASSERT_TRUE(log->note({"session.open"}));
  platter_->fail_writes(0, 10);
  platter_->fail_truncates();
  EXPECT_FALSE(log->note({"session.open"}));
  platter_->repair();
  EXPECT_FALSE(log->note({"session.open"}));
  EXPECT_EQ(log->refused()->code, "audit.write");
  log.reset();
  auto next = open();
  EXPECT_TRUE(next->note({"session.open"}));
  next.reset();
  EXPECT_EQ(check().verdict, Verdict::warnings) << to_text(check());
}

TEST_F(LogTest, AFailedFlushEndsItForGood) {
  auto log = open();
  ASSERT_TRUE(log->note({"session.open"}));
  ASSERT_TRUE(log->flush());
  platter_->fail_syncs(0);
  EXPECT_EQ(
      requests::append(*log, requests::decision(requests::run("true")), Durability::durable).error().code,
      "audit.sync");
  // The disk works again, and says yes to any further flush; the log must not believe it.
  EXPECT_EQ(
      requests::append(*log, requests::decision(requests::run("true")), Durability::durable).error().code,
      "audit.sync");
  EXPECT_EQ(log->note({"session.open"}).error().code, "audit.sync");
  EXPECT_EQ(log->flush().error().code, "audit.sync");
  EXPECT_EQ(log->refused()->code, "audit.sync");
  log.reset();

  auto next = open();
  EXPECT_TRUE(next->note({"session.open"}));
  next.reset();
  EXPECT_EQ(segments().size(), 2U);
  const auto report = check();
  EXPECT_EQ(report.verdict, Verdict::warnings) << to_text(report);
}

TEST_F(LogTest, NoPlantedSecretReachesTheDisk) {
  auto log = open();
  const std::string secret = "AKIAIOSFODNN7EXAMPLE";
  auto d = requests::decision(requests::run("export X=" + secret), Effect::deny);
  d.reason = d.hint = "refused " + secret;
  d.request.who.client_name = secret;
  ASSERT_TRUE(requests::append(*log, d));
  ASSERT_TRUE(requests::append(
      *log, requests::decision(requests::request(policy::TypeText{requests::sandbox(), "typed " + secret}))));
  policy::Event event{"session.open"};
  event.object["url"] = "https://a:" + secret + "@x/";
  ASSERT_TRUE(log->note(event));
  policy::Outcome outcome{false, "failed"};
  outcome.details["text"] = "it said " + secret;
  ASSERT_TRUE(log->close({lines()[0].substr(lines()[0].find("\"log\":\"") + 7, 8), 2, ""}, requests::run("x"),
                         outcome));
  log.reset();
  for (const auto& name : platter_->names()) {
    EXPECT_EQ(platter_->bytes(name).find(secret), std::string::npos) << platter_->bytes(name);
    EXPECT_EQ(platter_->bytes(name).find("typed"), std::string::npos);
  }
}

}  // namespace
}  // namespace audit
