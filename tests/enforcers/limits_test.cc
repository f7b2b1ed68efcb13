#include "enforcers/limits.h"

#include <gtest/gtest.h>

#include "policy/reservation.h"
#include "tests/enforcers/questions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"

namespace enforcers {
namespace {

using policy::Limit;
using policy::Meter;
using policy::Per;
using policy::Proofs;

class LimitsTest : public testing::Test {
 protected:
  static Limit limit(Meter meter, std::int64_t max, Per per = Per::everyone,
                     std::chrono::seconds window = std::chrono::seconds(0)) {
    return {
        .rule = {"cap", "user", "policy.yaml:3:5"}, .meter = meter, .per = per, .max = max, .window = window};
  }
  std::string check(const policy::Request& request, const std::vector<Limit>& limits, Proofs& proofs) {
    const auto objection = limits_.check(request, limits, proofs);
    if (!objection) return "ok";
    EXPECT_TRUE(objection->rule && objection->rule->id == "cap");
    EXPECT_FALSE(objection->hint.empty());
    return objection->code;
  }
  std::string check(policy::Action action, const std::vector<Limit>& limits) {
    Proofs proofs;
    return check(question(std::move(action)), limits, proofs);
  }

  fakes::FakeInventory inventory_;
  fakes::FakeClock clock_;
  Limits limits_{inventory_, clock_};
  const policy::PrincipalId me_{"uid:1000"};
  const policy::SandboxId sandbox_ = policy::SandboxId::random();
};

TEST_F(LimitsTest, CountsSandboxesAndThoseGrantedButNotThereYet) {
  const std::vector<Limit> two{limit(Meter::sandboxes, 2)};
  inventory_.add({"uid:7"});
  Proofs first;
  EXPECT_EQ(check(question(policy::Create{}), two, first), "ok");
  EXPECT_EQ(check(policy::Create{}, two), "limit.sandboxes") << "the grant holds the last place";
  first = {};
  EXPECT_EQ(check(question(policy::Create{}), two, first), "ok") << "the grant went away unused";

  ASSERT_NE(first.find<policy::Reservation>(), nullptr);
  first.find<policy::Reservation>()->counted_elsewhere();
  first.find<policy::Reservation>()->counted_elsewhere();
  const auto made = inventory_.add(me_);
  EXPECT_EQ(check(policy::Create{}, two), "limit.sandboxes");
  inventory_.remove(made);
  EXPECT_EQ(check(policy::Create{}, two), "ok");
}

TEST_F(LimitsTest, CountsEachPrincipalApartAndTakesTheSmallestLimit) {
  inventory_.add({"uid:7"});
  inventory_.add({"uid:10"});
  EXPECT_EQ(check(policy::Create{}, {limit(Meter::sandboxes, 1, Per::principal)}), "ok");
  EXPECT_EQ(check(policy::Create{}, {limit(Meter::sandboxes, 2)}), "limit.sandboxes");
  EXPECT_EQ(check(policy::Create{}, {limit(Meter::sandboxes, 5), limit(Meter::sandboxes, 2)}),
            "limit.sandboxes");
  inventory_.add(me_);
  EXPECT_EQ(check(policy::Create{}, {limit(Meter::sandboxes, 1, Per::principal)}), "limit.sandboxes");
  EXPECT_EQ(check(policy::Create{}, {limit(Meter::sandboxes, 0)}), "limit.sandboxes");
  EXPECT_EQ(check(policy::Create{}, {}), "ok");
}

TEST_F(LimitsTest, CountsCommandsRunningInOneSandbox) {
  const std::vector<Limit> two{limit(Meter::jobs, 2, Per::sandbox)};
  const policy::Start start{sandbox_, "sleep 9"};
  inventory_.set_running_jobs(sandbox_, 1);
  Proofs held;
  EXPECT_EQ(check(question(start), two, held), "ok");
  EXPECT_EQ(check(start, two), "limit.jobs");
  EXPECT_EQ(check(policy::Run{sandbox_, "x", {}}, two), "limit.jobs") << "a long run becomes a job";
  EXPECT_EQ(check(policy::Start{policy::SandboxId::random(), "x"}, two), "ok");
  EXPECT_EQ(check(policy::Stop{sandbox_, policy::JobId::random()}, two), "ok");
  held = {};
  EXPECT_EQ(check(start, two), "ok");
}

TEST_F(LimitsTest, CountsCallsInAWindowThatSlides) {
  const std::vector<Limit> three{limit(Meter::calls, 3, Per::principal, std::chrono::seconds(60))};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(check(policy::Check{sandbox_, policy::JobId::random()}, three), "ok");
    clock_.advance(std::chrono::seconds(10));
  }
  EXPECT_EQ(check(policy::Create{}, three), "limit.calls");
  EXPECT_EQ(check(policy::Destroy{sandbox_}, three), "ok") << "what makes less is never limited";
  auto other = question(policy::Create{});
  other.who.principal = {"uid:7"};
  Proofs proofs;
  EXPECT_EQ(check(other, three, proofs), "ok");
  auto caused = question(policy::Vmrun{});
  caused.id.parent = 5;
  EXPECT_EQ(check(caused, three, proofs), "ok") << "what a call causes is part of it";
  clock_.jump_wall(std::chrono::hours(5));
  EXPECT_EQ(check(policy::Create{}, three), "limit.calls") << "setting the clock does not help";
  clock_.advance(std::chrono::seconds(36));
  EXPECT_EQ(check(policy::Create{}, three), "ok") << "the first call is out of the window";
  EXPECT_EQ(check(policy::Create{}, three), "limit.calls");
}

TEST_F(LimitsTest, ABucketHasItsBurstAndFillsAtItsRate) {
  auto rate = limit(Meter::calls, 60, Per::principal, std::chrono::seconds(60));
  rate.burst = 3;
  const std::vector<Limit> limits{rate};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(check(policy::Create{}, limits), "ok");
  EXPECT_EQ(check(policy::Create{}, limits), "limit.calls");
  clock_.advance(std::chrono::milliseconds(999));
  EXPECT_EQ(check(policy::Create{}, limits), "limit.calls");
  clock_.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(check(policy::Create{}, limits), "ok");
  EXPECT_EQ(check(policy::Create{}, limits), "limit.calls");
  clock_.jump_wall(std::chrono::hours(5));
  EXPECT_EQ(check(policy::Create{}, limits), "limit.calls") << "setting the clock does not help";
  auto other = question(policy::Create{});
  other.who.principal = {"uid:7"};
  Proofs proofs;
  EXPECT_EQ(check(other, limits, proofs), "ok");
  clock_.advance(std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(check(policy::Create{}, limits), "ok") << "never more than the burst";
  EXPECT_EQ(check(policy::Create{}, limits), "limit.calls");
}

TEST_F(LimitsTest, ABucketGivesOnlyToWhatAllOthersAllow) {
  auto rate = limit(Meter::calls, 1, Per::everyone, std::chrono::hours(24 * 3650));
  rate.burst = 1'000'000'000;
  auto one = limit(Meter::calls, 1, Per::everyone, std::chrono::seconds(60));
  one.burst = 1;
  const std::vector<Limit> limits{rate, one, limit(Meter::sandboxes, 1)};
  const auto there = inventory_.add(me_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(check(policy::Create{}, limits), "limit.sandboxes");
  inventory_.remove(there);
  EXPECT_EQ(check(policy::Create{}, limits), "ok");
  EXPECT_EQ(check(policy::Create{}, limits), "limit.calls");
}

TEST_F(LimitsTest, ABucketThatTakesCenturiesDoesNotOverflow) {
  auto rate = limit(Meter::calls, 1, Per::everyone, std::chrono::hours(24 * 3650));
  rate.burst = 1'000'000'000;
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += check(policy::List{}, {rate}) == "ok" ? 1 : 0;
  EXPECT_EQ(passed, 100) << "listing is never limited";
  passed = 0;
  for (int i = 0; i < 100; ++i) {
    passed += check(policy::Check{sandbox_, policy::JobId::random()}, {rate}) == "ok" ? 1 : 0;
  }
  EXPECT_EQ(passed, 10);
}

TEST_F(LimitsTest, ARefusedCallIsNotCounted) {
  const std::vector<Limit> both{limit(Meter::calls, 2, Per::everyone, std::chrono::seconds(60)),
                                limit(Meter::copy_bytes, 10)};
  policy::CopyIn big{sandbox_, *policy::HostPath::parse("a"), *policy::GuestPath::parse("/a"), {}};
  big.survey.bytes = 11;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(check(big, both), "limit.copy_bytes");
  big.survey.bytes = 10;
  EXPECT_EQ(check(big, both), "ok");
  EXPECT_EQ(check(big, both), "ok");
  EXPECT_EQ(check(big, both), "limit.calls");
}

TEST_F(LimitsTest, BoundsCopiesInBothDirections) {
  policy::PublishOut out{sandbox_, *policy::GuestPath::parse("/a"), *policy::HostPath::parse("a"), {}};
  out.survey.files = 3;
  out.survey.bytes = 100;
  EXPECT_EQ(check(out, {limit(Meter::copy_files, 3), limit(Meter::copy_bytes, 100)}), "ok");
  EXPECT_EQ(check(out, {limit(Meter::copy_files, 2)}), "limit.copy_files");
  EXPECT_EQ(check(out, {limit(Meter::copy_bytes, 99)}), "limit.copy_bytes");
  EXPECT_EQ(check(out, {limit(Meter::copy_bytes, -1)}), "limit.copy_bytes");
}

TEST_F(LimitsTest, RefusesASandboxPastItsAgeButLetsItBeDestroyed) {
  const std::vector<Limit> hour{limit(Meter::sandbox_age, 3600)};
  policy::SandboxFacts facts{sandbox_, me_, policy::Network::none, std::chrono::seconds(3599), {}};
  Proofs proofs;
  EXPECT_EQ(check(question(policy::Run{sandbox_, "x", {}}, facts), hour, proofs), "ok");
  facts.age = std::chrono::seconds(3600);
  EXPECT_EQ(check(question(policy::Run{sandbox_, "x", {}}, facts), hour, proofs), "limit.sandbox_age");
  EXPECT_EQ(check(question(policy::Destroy{sandbox_}, facts), hour, proofs), "ok");
  policy::Vmrun remove{policy::VmrunVerb::delete_vm, "/c/x.vmx", {}, sandbox_};
  EXPECT_EQ(check(question(remove, facts), hour, proofs), "ok");
}

TEST_F(LimitsTest, NeverLimitsTheSystemItself) {
  auto request = question(policy::Create{});
  request.who.transport = policy::Transport::system;
  Proofs proofs;
  EXPECT_EQ(check(request, {limit(Meter::sandboxes, 0)}, proofs), "ok");
}

}  // namespace
}  // namespace enforcers
