// Questions that rules put to people, and whose answers count.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "gateway/approval/ancestry.h"
#include "gateway/approval/desk.h"
#include "policy/compile.h"
#include "policy/engine.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"

namespace gateway {
namespace {

using namespace std::chrono_literals;
using Kind = Desk::Reply::Kind;

constexpr char kPolicy[] = R"(
sallyport: policy/v1
tier: user
name: test
default: deny
subjects:
  oncall: { os_user: [sam] }
actions:
  most: { allow: list }
  web: { ask: create, network: web, who: oncall, within: 2m, why: think first }
  nat: { ask: create, network: nat, within: 2m }
  local: { ask: create, network: none, who: client, within: 2m }
)";

policy::Subject user(std::uint32_t uid, const std::string& name,
                     policy::Transport transport = policy::Transport::stdio) {
  policy::Subject who;
  who.principal = {"uid:" + std::to_string(uid)};
  who.transport = transport;
  who.uid = uid;
  who.os_user = name;
  who.pid = ::getpid();
  return who;
}

class ApprovalDesk : public testing::Test {
 protected:
  ApprovalDesk() {
    const std::vector<policy::Source> sources{{"test.yaml", kPolicy, {}}};
    auto compiled = policy::compile(sources);
    EXPECT_TRUE(compiled.program) << compiled.error().message;
    policy::Engine::Parts parts;
    parts.program = compiled.program;
    parts.sink = &sink_;
    parts.inventory = &inventory_;
    parts.clock = &clock_;
    engine_.emplace(std::move(parts));
  }

  policy::Ask asked(policy::Network network, const policy::Subject& who) {
    std::optional<policy::Verdict<policy::Create>> got;
    const policy::Caller caller{who, {policy::CallId::random(), "1", std::nullopt}};
    engine_->decide(caller, policy::Create{network}).settle([&](auto verdict) {
      got.emplace(std::move(verdict));
    });
    return std::get<policy::Ask>(std::move(*got));
  }
  Desk::Reply ask(const policy::Ask& question, const policy::Subject& who, std::stop_token stop = {},
                  std::shared_ptr<ClientChannel> client = {}, std::chrono::milliseconds max_wait = 0ms) {
    std::optional<Desk::Reply> reply;
    boost::asio::co_spawn(context_, desk_.ask(who, question, max_wait, std::move(stop), client),
                          [&](std::exception_ptr, Desk::Reply got) { reply = std::move(got); });
    context_.restart();
    context_.run();
    return std::move(*reply);
  }
  // The code of what it was refused with, or nothing.
  std::string answer(const std::string& id, const policy::Subject& by, policy::Approve::Answer said,
                     const std::vector<std::int32_t>& ancestors = {},
                     policy::Approve::Channel channel = policy::Approve::Channel::command) {
    std::optional<policy::Verdict<policy::Approve>> got;
    const policy::Caller caller{by, {policy::CallId::random(), "1", std::nullopt}};
    engine_->decide(caller, policy::Approve{said, id, channel}).settle([&](auto verdict) {
      got.emplace(std::move(verdict));
    });
    auto* grant = std::get_if<policy::Grant<policy::Approve>>(&*got);
    if (grant == nullptr) return std::get<policy::Denial>(*got).code;
    const auto done = desk_.answer(std::move(*grant), engine_->program(), ancestors);
    return done ? "" : done.error().code;
  }
  std::string allow(const std::string& id, const policy::Subject& by,
                    const std::vector<std::int32_t>& ancestors = {}) {
    return answer(id, by, policy::Approve::Answer::allow, ancestors);
  }

  boost::asio::io_context context_;
  fakes::FakeSink sink_;
  fakes::FakeInventory inventory_;
  fakes::FakeClock clock_;
  Desk desk_{context_.get_executor(), clock_, sink_};
  std::optional<policy::Engine> engine_;
  const policy::Subject alice_ = user(1000, "alice");
  const policy::Subject alice_at_a_shell_ = user(1000, "alice", policy::Transport::cli);
  const policy::Subject sam_ = user(1001, "sam", policy::Transport::cli);
  const policy::Subject root_ = user(0, "root", policy::Transport::cli);
};

// Statement 14 of the policy reference, as far as it is about who answers and how often.
class Statement14Desk : public ApprovalDesk {};

TEST_F(Statement14Desk, AnAnswerIsForOneCall) {
  const auto question = asked(policy::Network::web, alice_);
  const auto waiting = ask(question, alice_);
  EXPECT_EQ(waiting.kind, Kind::waiting);
  EXPECT_EQ(waiting.left, 2min);
  EXPECT_EQ(ask(question, alice_).id, waiting.id) << "the same call is the same question";
  EXPECT_EQ(allow(waiting.id, sam_), "");
  const auto allowed = ask(question, alice_);
  ASSERT_EQ(allowed.kind, Kind::allowed);
  EXPECT_EQ(allowed.approval->action, question.action);
  EXPECT_EQ(allowed.approval->by.text, "uid:1001");
  const auto again = ask(question, alice_);
  EXPECT_EQ(again.kind, Kind::waiting);
  EXPECT_NE(again.id, waiting.id);
}

TEST_F(Statement14Desk, OnlyThoseWhomTheRuleMeansCanSayYes) {
  const auto web = ask(asked(policy::Network::web, alice_), alice_).id;
  const auto nat = ask(asked(policy::Network::nat, alice_), alice_).id;
  const auto bob = user(1002, "bob", policy::Transport::cli);
  EXPECT_EQ(allow(web, alice_at_a_shell_), "approval.same_user");
  EXPECT_EQ(allow(nat, alice_at_a_shell_), "approval.same_user");
  EXPECT_EQ(allow(web, bob), "approval.not_asked");
  EXPECT_EQ(allow(web, root_), "approval.not_asked") << "the rule asks somebody else";
  EXPECT_EQ(allow(nat, sam_), "approval.not_asked");
  EXPECT_EQ(allow(nat, user(0, "root")), "deny.default") << "over MCP nobody answers";
  EXPECT_EQ(allow("ask-0", sam_), "approval.unknown");
  EXPECT_EQ(allow(web, sam_), "");
  EXPECT_EQ(allow(web, sam_), "approval.answered");
  EXPECT_EQ(allow(nat, root_), "");
}

TEST_F(Statement14Desk, WhoAnswersMustBeAllThoseWhomTheRulesMean) {
  auto question = asked(policy::Network::web, alice_);
  question.who = "user:oncall+user";
  const auto id = ask(question, alice_).id;
  EXPECT_EQ(allow(id, sam_), "approval.not_asked");
  EXPECT_EQ(allow(id, root_), "approval.not_asked");
  auto sam_as_root = root_;
  sam_as_root.os_user = "sam";
  EXPECT_EQ(allow(id, sam_as_root), "");
}

TEST_F(Statement14Desk, WhoeverRunsAsTheAskersAccountIsNotAnotherPerson) {
  auto sam_too = sam_;
  sam_too.uid = 1000;  // a second name of the same account
  const auto web = ask(asked(policy::Network::web, alice_), alice_).id;
  EXPECT_EQ(allow(web, sam_too), "approval.same_user");
}

TEST_F(Statement14Desk, NothingBelowAClientThatAsksCanSayYes) {
  const auto question = asked(policy::Network::nat, alice_);
  const auto nat = ask(question, alice_).id;
  EXPECT_EQ(allow(nat, root_, {99, ::getppid(), 7}), "approval.same_client");
  auto second = alice_;  // another client that asks the same, of which nothing is known
  second.pid = 999'999'999;
  EXPECT_EQ(ask(question, second).id, nat);
  EXPECT_EQ(allow(nat, root_, {99, 7}), "approval.same_client");
  EXPECT_EQ(answer(nat, root_, policy::Approve::Answer::deny), "");
}

TEST_F(ApprovalDesk, WhoeverIsShownAQuestionMayRefuseIt) {
  for (const auto& who : {sam_, root_, alice_at_a_shell_}) {
    const auto id = ask(asked(policy::Network::web, alice_), alice_).id;
    EXPECT_EQ(answer(id, who, policy::Approve::Answer::deny), "") << who.os_user;
    clock_.advance(2min);
  }
  const auto id = ask(asked(policy::Network::web, alice_), alice_).id;
  EXPECT_EQ(answer(id, user(1002, "bob", policy::Transport::cli), policy::Approve::Answer::deny),
            "approval.not_asked");
}

TEST_F(ApprovalDesk, WhatNobodyReadsToItsEndIsNotAsked) {
  auto question = asked(policy::Network::web, alice_);
  question.what = policy::Json(policy::Json::Object{{"command", policy::Json(std::string(20'000, 'x'))}});
  EXPECT_EQ(ask(question, alice_).kind, Kind::too_long);
}

TEST_F(ApprovalDesk, ARefusalStandsUntilTheQuestionWouldHaveEnded) {
  const auto question = asked(policy::Network::web, alice_);
  const auto id = ask(question, alice_).id;
  EXPECT_EQ(answer(id, alice_at_a_shell_, policy::Approve::Answer::deny), "") << "it opens nothing";
  EXPECT_EQ(ask(question, alice_).kind, Kind::denied);
  EXPECT_EQ(ask(question, alice_).kind, Kind::denied);
  EXPECT_EQ(allow(id, sam_), "approval.answered");
  clock_.advance(2min);
  EXPECT_EQ(ask(question, alice_).kind, Kind::waiting);
}

TEST_F(Statement14Desk, TimeOtherRulesAndCancellingEndAQuestion) {
  const auto question = asked(policy::Network::web, alice_);
  const auto first = ask(question, alice_).id;
  clock_.advance(2min);
  EXPECT_EQ(allow(first, sam_), "approval.unknown");
  const auto second = ask(question, alice_).id;
  desk_.forget_all();
  EXPECT_EQ(allow(second, sam_), "approval.unknown");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ask(question, alice_, stop.get_token()).kind, Kind::cancelled);
}

TEST_F(ApprovalDesk, OneCannotFillItWithQuestions) {
  auto question = asked(policy::Network::web, alice_);
  for (int i = 0; i < 16; ++i) {
    question.action.bytes[0] = static_cast<std::uint8_t>(i);
    EXPECT_EQ(ask(question, alice_).kind, Kind::waiting);
  }
  question.action.bytes[0] = 99;
  EXPECT_EQ(ask(question, alice_).kind, Kind::too_many);
  EXPECT_EQ(ask(question, user(1005, "eve")).kind, Kind::waiting) << "another's are others";
}

TEST_F(ApprovalDesk, ShowsQuestionsToThoseTheyConcern) {
  (void)ask(asked(policy::Network::web, alice_), alice_);
  const auto shown = [&](const policy::Subject& who) {
    return desk_.open_for(who, engine_->program()).size();
  };
  EXPECT_EQ(shown(alice_at_a_shell_), 1U);
  EXPECT_EQ(shown(sam_), 1U);
  EXPECT_EQ(shown(root_), 1U);
  EXPECT_EQ(shown(user(1002, "bob")), 0U);
}

// A client that shows what it is given, and keeps it.
struct FakeClient final : ClientChannel {
  explicit FakeClient(Put answers = Put::asked) : puts(answers) {}
  Put put(const std::string& question, const std::string& message) override {
    shown.push_back(question);
    text = message;
    return puts;
  }
  void withdraw(const std::string& question) override { withdrawn.push_back(question); }

  Put puts;
  std::vector<std::string> shown, withdrawn;
  std::string text;
};

// The rule `local` asks the user in his client.
class AskingInTheClient : public ApprovalDesk {
 protected:
  std::string answer_there(const std::string& id, policy::Approve::Answer said, const policy::Subject& by) {
    return answer(id, by, said, {}, policy::Approve::Channel::client);
  }
  std::string yes_there(const std::string& id) {
    return answer_there(id, policy::Approve::Answer::allow, alice_);
  }
  std::vector<std::string> noted() const {
    std::vector<std::string> acts;
    for (const auto& event : sink_.events()) acts.push_back(event.act);
    return acts;
  }
  std::shared_ptr<FakeClient> client_ = std::make_shared<FakeClient>();
  using Acts = std::vector<std::string>;
};

TEST_F(AskingInTheClient, AYesThereLetsOneCallPass) {
  const auto question = asked(policy::Network::none, alice_);
  EXPECT_EQ(question.who, "client");
  const auto waiting = ask(question, alice_, {}, client_);
  EXPECT_EQ(waiting.kind, Kind::waiting);
  EXPECT_EQ(waiting.dialog, Question::Dialog::open);
  EXPECT_EQ(client_->shown, Acts{waiting.id});
  EXPECT_EQ(ask(question, alice_, {}, client_).id, waiting.id);
  EXPECT_EQ(client_->shown.size(), 1U) << "it stands there already";
  EXPECT_EQ(yes_there(waiting.id), "");
  EXPECT_EQ(yes_there(waiting.id), "approval.answered");
  const auto allowed = ask(question, alice_, {}, client_);
  ASSERT_EQ(allowed.kind, Kind::allowed);
  EXPECT_EQ(allowed.approval->channel, policy::Approve::Channel::client);
  EXPECT_EQ(allowed.approval->by.text, "uid:1000");
  EXPECT_EQ(yes_there(waiting.id), "approval.unknown") << "late";
  EXPECT_TRUE(client_->withdrawn.empty());
  EXPECT_EQ(noted(), Acts{"approval.shown"});
  EXPECT_NE(ask(question, alice_, {}, client_).id, waiting.id);
}

TEST_F(AskingInTheClient, OnlyWhereTheRulesAskNobodyElse) {
  for (const auto* people : {"user", "user:oncall", "client+user", "user+client", "client+user:oncall", ""}) {
    auto question = asked(policy::Network::none, alice_);
    question.who = people;
    const auto waiting = ask(question, alice_, {}, client_);
    EXPECT_EQ(waiting.dialog, Question::Dialog::none) << people;
    EXPECT_EQ(yes_there(waiting.id), "approval.not_asked") << people;
    EXPECT_EQ(answer_there(waiting.id, policy::Approve::Answer::deny, alice_), "approval.not_asked")
        << people;
  }
  EXPECT_TRUE(client_->shown.empty());
}

TEST_F(AskingInTheClient, OnlyWhoWasShownAQuestionAnswersIt) {
  const auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_).id;
  EXPECT_EQ(yes_there(id), "approval.not_shown");
  EXPECT_EQ(ask(question, alice_, {}, client_).id, id);
  EXPECT_EQ(answer_there(id, policy::Approve::Answer::allow, user(1002, "bob")), "approval.unknown");
  EXPECT_EQ(answer_there(id, policy::Approve::Answer::allow, alice_at_a_shell_), "deny.default")
      << "a command is no client";
  EXPECT_EQ(answer(id, alice_, policy::Approve::Answer::allow), "deny.default") << "a client is no command";
  EXPECT_EQ(answer(id, alice_at_a_shell_, policy::Approve::Answer::allow), "approval.same_user");
  EXPECT_EQ(ask(question, alice_, {}, client_).kind, Kind::waiting);
}

TEST_F(AskingInTheClient, OtherAnswersThanYesRefuse) {
  const auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_, {}, client_).id;
  EXPECT_EQ(answer_there(id, policy::Approve::Answer::deny, alice_), "");
  EXPECT_EQ(ask(question, alice_, {}, client_).kind, Kind::denied);
  EXPECT_EQ(yes_there(id), "approval.answered");
  clock_.advance(2min);
  const auto next = ask(question, alice_, {}, client_).id;
  EXPECT_EQ(answer_there(next, policy::Approve::Answer::dismiss, alice_), "");
  EXPECT_EQ(ask(question, alice_, {}, client_).kind, Kind::dismissed);
  EXPECT_EQ(allow(next, root_), "approval.answered");
}

TEST_F(AskingInTheClient, WhatIsNoAnswerEndsTheDialogAndNothingElse) {
  const auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_, {}, client_).id;
  desk_.unreadable(id, user(1002, "bob"));
  desk_.unreadable("ask-0", alice_);
  EXPECT_EQ(noted(), Acts{"approval.shown"});
  desk_.unreadable(id, alice_);
  EXPECT_EQ(noted(), (Acts{"approval.shown", "approval.unreadable"}));
  EXPECT_EQ(yes_there(id), "approval.not_shown");
  EXPECT_EQ(ask(question, alice_, {}, client_).dialog, Question::Dialog::over);
  EXPECT_EQ(client_->shown.size(), 1U) << "it is not asked there again";
  EXPECT_EQ(allow(id, root_), "");
  EXPECT_EQ(ask(question, alice_, {}, client_).kind, Kind::allowed);
}

TEST_F(AskingInTheClient, AnAnswerByCommandTimeAndOtherRulesEndTheDialog) {
  const auto question = asked(policy::Network::none, alice_);
  const auto first = ask(question, alice_, {}, client_).id;
  EXPECT_EQ(allow(first, root_), "");
  EXPECT_EQ(client_->withdrawn, Acts{first});
  EXPECT_EQ(yes_there(first), "approval.answered");
  const auto allowed = ask(question, alice_, {}, client_);
  ASSERT_EQ(allowed.kind, Kind::allowed);
  EXPECT_EQ(allowed.approval->channel, policy::Approve::Channel::command);

  const auto second = ask(question, alice_, {}, client_).id;
  clock_.advance(2min);
  desk_.drop_expired();
  EXPECT_EQ(client_->withdrawn, (Acts{first, second}));
  EXPECT_EQ(noted().back(), "approval.expired");
  EXPECT_EQ(yes_there(second), "approval.unknown");

  const auto third = ask(question, alice_, {}, client_).id;
  desk_.forget_all();
  EXPECT_EQ(client_->withdrawn, (Acts{first, second, third}));
  EXPECT_EQ(yes_there(third), "approval.unknown");
}

TEST_F(AskingInTheClient, ACancelledCallTakesItsDialogAlong) {
  const auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_, {}, client_).id;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ask(question, alice_, stop.get_token(), client_).kind, Kind::cancelled);
  EXPECT_EQ(client_->withdrawn, Acts{id});
  EXPECT_EQ(yes_there(id), "approval.not_shown");
  EXPECT_EQ(ask(question, alice_, {}, client_).id, id);
  EXPECT_EQ(client_->shown.size(), 2U);
}

TEST_F(AskingInTheClient, AClientThatIsGoneLeavesTheQuestionToTheNext) {
  const auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_, {}, client_).id;
  client_ = std::make_shared<FakeClient>();
  EXPECT_EQ(ask(question, alice_, {}, client_).id, id);
  EXPECT_EQ(client_->shown, Acts{id});
  EXPECT_EQ(yes_there(id), "");
}

TEST_F(AskingInTheClient, AResultThatAsksIsGivenAtOnceAndWithEachCall) {
  client_ = std::make_shared<FakeClient>(ClientChannel::Put::ends_call);
  const auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_, {}, client_, 1h).id;
  EXPECT_EQ(ask(question, alice_, {}, client_, 1h).id, id);
  EXPECT_EQ(client_->shown, (Acts{id, id}));
  EXPECT_EQ(yes_there(id), "");
  EXPECT_EQ(ask(question, alice_, {}, client_, 1h).kind, Kind::allowed);
}

TEST_F(AskingInTheClient, NobodyIsShownWhatTheLogDoesNotKnowOf) {
  const auto question = asked(policy::Network::none, alice_);
  sink_.fail_with(policy::Error{"audit.failed", "full"});
  EXPECT_EQ(ask(question, alice_, {}, client_).dialog, Question::Dialog::over);
  EXPECT_TRUE(client_->shown.empty());
}

TEST_F(AskingInTheClient, TheSameCallThatOthersAreAskedAboutIsAnotherQuestion) {
  auto question = asked(policy::Network::none, alice_);
  const auto id = ask(question, alice_, {}, client_).id;
  EXPECT_EQ(yes_there(id), "");
  question.who = "user";
  const auto other = ask(question, alice_, {}, client_);
  EXPECT_EQ(other.kind, Kind::waiting);
  EXPECT_NE(other.id, id);
}

TEST(Ancestry, LeadsFromAProcessToTheFirst) {
  const auto line = ancestors_of(::getpid());
  ASSERT_GE(line.size(), 1U);
  EXPECT_EQ(line[0], ::getpid());
  if (::getppid() > 1) {
    ASSERT_GE(line.size(), 2U);
    EXPECT_EQ(line[1], ::getppid());
  }
  EXPECT_TRUE(ancestors_of(0).empty());
  EXPECT_EQ(parent_of(-5), 0);
}

}  // namespace
}  // namespace gateway
