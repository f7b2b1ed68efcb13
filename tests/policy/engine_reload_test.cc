// What is decided when a person has agreed, and when other rules come into force under what is under way.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/compile.h"
#include "policy/engine.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;
using namespace std::chrono_literals;

constexpr char kAsking[] = R"(
sallyport: policy/v1
tier: user
name: test
default: deny
subjects:
  sec: { os_user: [sam] }
actions:
  most: { allow: [list, screenshot, destroy, start] }
  ask-run: { ask: run, who: sec, within: 2m, why: think first, clamp: { timeout: 1m } }
  ask-in: { ask: copy_in }
)";

std::shared_ptr<const Program> compiled(const std::string& text) {
  const std::vector<Source> sources{{"test.yaml", text, {}}};
  auto done = compile(sources);
  EXPECT_TRUE(done.program) << done.error().message;
  return done.program;
}

class Reload : public testing::Test {
 protected:
  Reload() {
    Engine::Parts parts;
    parts.program = compiled(kAsking);
    parts.sink = &sink_;
    parts.inventory = &inventory_;
    parts.clock = &clock_;
    parts.settings = known_settings();
    engine_.emplace(std::move(parts));
  }
  template <class A>
  Verdict<A> decide(A what, std::optional<Approval> approval = {}, Subject who = agent()) {
    std::optional<Verdict<A>> got;
    Caller caller{std::move(who), {CallId::random(), "1", std::nullopt}, std::move(approval)};
    engine_->decide(caller, std::move(what)).settle([&](Verdict<A> verdict) {
      got.emplace(std::move(verdict));
    });
    return std::move(*got);
  }
  policy::Run run(std::string command = "make", std::chrono::seconds timeout = 5s) const {
    return {box_, std::move(command), timeout};
  }
  static Subject stranger() {
    auto who = agent();
    who.principal = {"uid:1001"};
    who.uid = 1001;
    return who;
  }
  // What a person who was shown the question would have given.
  Approval yes(const Ask& ask) const {
    return {"ask-1", ask.action, ask.policy, agent().principal, clock_.since_boot() + 1min, {"uid:0"}};
  }

  fakes::FakeSink sink_;
  fakes::FakeInventory inventory_;
  fakes::FakeClock clock_;
  SandboxId box_ = inventory_.add(agent().principal);
  std::optional<Engine> engine_;
};

class Statement14Approvals : public Reload {};
class Statement15Reload : public Reload {};

TEST_F(Statement14Approvals, AnApprovalLetsExactlyWhatWasShownPass) {
  const auto asked = decide(run());
  const auto& ask = std::get<Ask>(asked);
  EXPECT_EQ(ask.who, "user:sec");
  EXPECT_EQ(ask.policy, engine_->program()->digest());
  EXPECT_EQ(*ask.what.find("command"), Json("make"));
  {
    const auto verdict = decide(run(), yes(ask));
    ASSERT_TRUE(std::holds_alternative<Grant<policy::Run>>(verdict));
    EXPECT_EQ(std::get<Grant<policy::Run>>(verdict).rule().id, "ask-run");
    const auto record = sink_.decisions().back().decision;
    EXPECT_EQ(record.effect, Effect::allow);
    EXPECT_EQ(record.code, "allow.approved");
    ASSERT_TRUE(record.approval);
    EXPECT_EQ(record.approval->id, "ask-1");
  }
  // What policy lowers is lowered before it is shown, so a longer timeout is the same question.
  const auto lowered = decide(run("make", 2min));
  const auto longer = decide(run("make", 1h), yes(std::get<Ask>(lowered)));
  EXPECT_TRUE(std::holds_alternative<Grant<policy::Run>>(longer));
}

TEST_F(Statement14Approvals, AnAnswerFromTheClientCountsOnlyWhereTheRulesAskNobodyElse) {
  struct Case {
    const char* what;
    const char* rules;
    bool in_client, by_command;
  };
  const Case cases[] = {
      {"the channel", "a: { ask: run, who: client }", true, true},
      {"twice the channel", "a: { ask: run, who: client }, b: { ask: any, who: client }", true, true},
      {"the user", "a: { ask: run, who: user }", false, true},
      {"nobody named", "a: { ask: run }", false, true},
      {"a subject", "a: { ask: run, who: sec }", false, true},
      {"the channel and the user", "a: { ask: run, who: client }, b: { ask: any, who: user }", false, true},
      {"the channel and a subject", "a: { ask: run, who: client }, b: { ask: any, who: sec }", false, true},
      {"refused", "a: { ask: run, who: client }, b: { deny: run }", false, false},
  };
  for (const auto& one : cases) {
    engine_->put_in_force(
        compiled("sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n"
                 "subjects: { sec: { os_user: [sam] } }\nactions: { " +
                 std::string(one.rules) + " }\n"));
    const auto first = decide(run());
    const auto* ask = std::get_if<Ask>(&first);
    if (ask == nullptr) {
      EXPECT_FALSE(one.in_client || one.by_command) << one.what;
      continue;
    }
    auto approval = yes(*ask);
    EXPECT_EQ(std::holds_alternative<Grant<policy::Run>>(decide(run(), approval)), one.by_command)
        << one.what;
    approval.channel = Approve::Channel::client;
    EXPECT_EQ(std::holds_alternative<Grant<policy::Run>>(decide(run(), approval)), one.in_client) << one.what;
    EXPECT_EQ(sink_.decisions().back().decision.approval.has_value(), one.in_client) << one.what;
  }
}

TEST_F(Statement14Approvals, AnAnswerComesByTheWayItSaysItComes) {
  for (const auto transport : {Transport::stdio, Transport::http, Transport::cli, Transport::system}) {
    for (const auto channel : {Approve::Channel::command, Approve::Channel::client}) {
      auto who = agent();
      who.transport = transport;
      const bool command = channel == Approve::Channel::command;
      const bool fits = transport != Transport::system && command == (transport == Transport::cli);
      const auto verdict = decide(Approve{Approve::Answer::allow, "ask-1", channel}, {}, who);
      EXPECT_EQ(std::holds_alternative<Grant<Approve>>(verdict), fits) << spelling(transport) << command;
    }
  }
}

TEST_F(Statement14Approvals, AnApprovalOfSomethingElseCountsForNothing) {
  const auto asked = decide(run());
  const auto good = yes(std::get<Ask>(asked));
  const auto still_asks = [](const auto& verdict) { return std::holds_alternative<Ask>(verdict); };
  EXPECT_TRUE(still_asks(decide(run("make all"), good))) << "another command";
  EXPECT_TRUE(still_asks(decide(run("make", 6s), good))) << "another timeout";
  EXPECT_TRUE(std::holds_alternative<Denial>(decide(run(), good, stranger()))) << "another's sandbox";
  auto other = good;
  other.policy = {};
  EXPECT_TRUE(still_asks(decide(run(), other))) << "another policy";
  other = good;
  other.asker = {"uid:1001"};
  EXPECT_TRUE(still_asks(decide(run(), other))) << "given to somebody else";
  other = good;
  other.until = clock_.since_boot();
  EXPECT_TRUE(still_asks(decide(run(), other))) << "too late";
  EXPECT_TRUE(std::holds_alternative<Grant<policy::Run>>(decide(run(), good)));
}

TEST_F(Statement14Approvals, AnApprovalOfACopyIsForTheContentThatWasSurveyed) {
  auto shown = survey(1, 100);
  const auto copy = [&](const Survey& found) { return CopyIn{box_, host("a"), guest("/tmp/a"), found}; };
  const auto asked = decide(copy(shown));
  const auto good = yes(std::get<Ask>(asked));
  EXPECT_TRUE(std::holds_alternative<Grant<CopyIn>>(decide(copy(shown), good)));
  shown.manifest.bytes[0] ^= 1U;
  EXPECT_TRUE(std::holds_alternative<Ask>(decide(copy(shown), good)));
}

TEST_F(Statement14Approvals, AnApprovalNeverLiftsARefusal) {
  const auto asked = decide(run());
  const auto good = yes(std::get<Ask>(asked));
  engine_->refuse_all(Error{"deny.stopped", "the kill switch is on"});
  EXPECT_TRUE(std::holds_alternative<Denial>(decide(run(), good)));
}

TEST_F(Statement14Approvals, PeopleAreThoseWhomTheSubjectDescribes) {
  auto sam = person();
  sam.os_user = "sam";
  auto alice = person();
  alice.os_user = "alice";
  const auto* program = engine_->program();
  EXPECT_TRUE(program->is_one_of(sam, "user:sec"));
  EXPECT_FALSE(program->is_one_of(alice, "user:sec"));
  sam.os_user.clear();
  EXPECT_FALSE(program->is_one_of(sam, "user:sec")) << "nobody knows who this is";
  sam.os_user = "sam";
  EXPECT_FALSE(program->is_one_of(sam, "org:sec"));
  EXPECT_FALSE(program->is_one_of(sam, ""));
}

TEST_F(Statement14Approvals, EveryRuleThatAsksMustBeContent) {
  const std::vector<Source> sources{{"user.yaml", kAsking, {}},
                                    {"project.yaml",
                                     "sallyport: policy/v1\ntier: project\nname: p\ndefault: inherit\n"
                                     "actions: { a: { ask: run, within: 1m }, b: { ask: run } }\n",
                                     {}}};
  auto both = compile(sources);
  ASSERT_TRUE(both.program) << both.error().message;
  engine_->put_in_force(both.program);
  const auto asked = decide(run());
  const auto& ask = std::get<Ask>(asked);
  EXPECT_EQ(ask.who, "user:sec+user");
  EXPECT_EQ(ask.rule.id, "ask-run");
  EXPECT_EQ(ask.within, 1min);
}

TEST_F(Statement15Reload, EachDecisionIsMadeUnderOnePolicyAndNamesIt) {
  const auto first = engine_->program()->digest();
  EXPECT_TRUE(std::holds_alternative<Grant<Screenshot>>(decide(Screenshot{box_})));
  EXPECT_EQ(sink_.decisions().back().decision.policy, first);
  engine_->put_in_force(
      compiled("sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n"
               "actions: { few: { allow: list } }\n"));
  EXPECT_TRUE(std::holds_alternative<Denial>(decide(Screenshot{box_})));
  EXPECT_NE(sink_.decisions().back().decision.policy, first);
  EXPECT_EQ(sink_.decisions().back().decision.policy, engine_->program()->digest());
}

TEST_F(Reload, WhatStandsIsJudgedAgainAndWithdrawnOnce) {
  auto started = decide(Start{box_, "serve"});
  auto& grant = std::get<Grant<Start>>(started);
  int withdrawn = 0;
  std::string why;
  const auto standing = engine_->stand(grant, [&](const Denial& denial) {
    ++withdrawn;
    why = denial.rule.id;
  });
  (void)grant.close({.ok = true, .code = "ok"});
  const std::string head = "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n";
  engine_->put_in_force(compiled(head + "actions: { other: { allow: [start, list] } }\n"));
  EXPECT_EQ(withdrawn, 0) << "another rule allows it as well";
  engine_->put_in_force(compiled(
      head + "actions: { most: { allow: start }, no: { deny: start, command: { glob: \"serv*\" } } }\n"));
  EXPECT_EQ(withdrawn, 1);
  EXPECT_EQ(why, "no");
  ASSERT_FALSE(sink_.events().empty());
  EXPECT_EQ(sink_.events().back().act, "grant.withdrawn");
  EXPECT_EQ(*sink_.events().back().object.find("rule"), Json("no"));
  engine_->put_in_force(compiled(head + "actions: { few: { allow: list } }\n"));
  EXPECT_EQ(withdrawn, 1);
}

TEST_F(Reload, WhatEndedIsNotJudgedAgain) {
  auto started = decide(Start{box_, "serve"});
  int withdrawn = 0;
  {
    const auto standing =
        engine_->stand(std::get<Grant<Start>>(started), [&](const Denial&) { ++withdrawn; });
  }
  engine_->put_in_force(
      compiled("sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n"
               "actions: { few: { allow: list } }\n"));
  EXPECT_EQ(withdrawn, 0);
}

TEST_F(Reload, WhatAPersonApprovedStaysWhileTheSameRuleAsks) {
  const auto asked = decide(run());
  auto verdict = decide(run(), yes(std::get<Ask>(asked)));
  int withdrawn = 0;
  const auto standing =
      engine_->stand(std::get<Grant<policy::Run>>(verdict), [&](const Denial&) { ++withdrawn; });
  engine_->put_in_force(compiled(std::string(kAsking) + "  more: { allow: extend }\n"));
  EXPECT_EQ(withdrawn, 0);
  engine_->put_in_force(
      compiled("sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\n"
               "actions: { other: { ask: run } }\n"));
  EXPECT_EQ(withdrawn, 1) << "nobody approved what the other rule asks";
}

TEST_F(Reload, WhatNobodyApprovedIsWithdrawnByARuleThatAsks) {
  const std::string head =
      "sallyport: policy/v1\ntier: user\nname: t\ndefault: deny\nsubjects: { a: { uid: 1 }, b: { uid: 2 } "
      "}\n";
  engine_->put_in_force(compiled(head + "actions: { use: { allow: start } }\n"));
  auto started = decide(Start{box_, "serve"});
  int withdrawn = 0;
  const auto standing = engine_->stand(std::get<Grant<Start>>(started), [&](const Denial&) { ++withdrawn; });
  engine_->put_in_force(compiled(head + "actions: { use: { ask: start } }\n"));
  EXPECT_EQ(withdrawn, 1) << "the same rule, which did not ask before";

  engine_->put_in_force(compiled(head + "actions: { use: { ask: run, who: a } }\n"));
  const auto asked = decide(run());
  auto approved = decide(run(), yes(std::get<Ask>(asked)));
  int other = 0;
  const auto stands = engine_->stand(std::get<Grant<policy::Run>>(approved), [&](const Denial&) { ++other; });
  engine_->put_in_force(compiled(head + "actions: { use: { ask: run, who: a }, x: { allow: list } }\n"));
  EXPECT_EQ(other, 0);
  engine_->put_in_force(compiled(head + "actions: { use: { ask: run, who: b } }\n"));
  EXPECT_EQ(other, 1) << "other people";
}

}  // namespace
}  // namespace policy
