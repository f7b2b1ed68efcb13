#include "policy/engine.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/fakes/fake_sink.h"
#include "tests/policy/judgements.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;

// Objects when told to, and notes who asked it.
class Objector final : public Enforcer {
 public:
  Objector(std::string name, std::vector<std::string>& asked) : name_(std::move(name)), asked_(asked) {}
  std::string_view name() const override { return name_; }
  std::optional<Objection> check(const Request&, std::span<const Limit>, Proofs&) noexcept override {
    asked_.push_back(name_);
    return objection;
  }
  std::optional<Objection> objection;

 private:
  std::string name_;
  std::vector<std::string>& asked_;
};

struct OpenHandle final : Proof {
  explicit OpenHandle(int n) : number(n) {}
  int number;
};

class Prover final : public Enforcer {
 public:
  std::string_view name() const override { return "prover"; }
  std::optional<Objection> check(const Request&, std::span<const Limit>, Proofs& proofs) noexcept override {
    proofs.put(std::make_unique<OpenHandle>(7));
    return std::nullopt;
  }
};

constexpr std::string_view kPolicy = R"(
sallyport: policy/v1
tier: user
name: test
default: deny
actions:
  most: { allow: [create, list, run, screenshot, destroy] }
  no-nat: { deny: create, network: nat, why: no nat here, hint: use web }
  ask-web: { ask: create, network: web, who: sec, within: 2m, why: think first }
subjects:
  sec: { os_user: [sam] }
)";

class EngineTest : public testing::Test {
 protected:
  Engine make(std::shared_ptr<const Program> program, std::vector<std::unique_ptr<Enforcer>> more = {}) {
    Engine::Parts parts;
    parts.program = std::move(program);
    parts.enforcers.push_back(std::move(first_owned_));
    parts.enforcers.push_back(std::move(second_owned_));
    for (auto& enforcer : more) parts.enforcers.push_back(std::move(enforcer));
    parts.sink = &sink_;
    parts.inventory = &inventory_;
    parts.clock = &clock_;
    parts.settings = known_settings();
    return Engine(std::move(parts));
  }
  static std::shared_ptr<const Program> program() {
    const std::vector<Source> sources{{"test.yaml", std::string(kPolicy), {}}};
    auto compiled = compile(sources);
    EXPECT_TRUE(compiled.program) << compiled.error().message;
    return compiled.program;
  }
  Caller caller(Subject who = agent()) const {
    return {std::move(who), {CallId::random(), "1", std::nullopt}};
  }

  template <class A>
  static std::optional<Verdict<A>> settle(Pending<A> pending) {
    std::optional<Verdict<A>> got;
    std::move(pending).settle([&](Verdict<A> verdict) { got.emplace(std::move(verdict)); });
    return got;
  }
  template <class A>
  static Denial denied(Pending<A> pending) {
    auto verdict = settle(std::move(pending));
    EXPECT_TRUE(verdict && std::holds_alternative<Denial>(*verdict));
    return verdict && std::holds_alternative<Denial>(*verdict) ? std::get<Denial>(*verdict) : Denial{};
  }

  fakes::FakeSink sink_;
  fakes::FakeInventory inventory_;
  fakes::FakeClock clock_;
  std::vector<std::string> asked_;
  std::unique_ptr<Objector> first_owned_ = std::make_unique<Objector>("first", asked_);
  std::unique_ptr<Objector> second_owned_ = std::make_unique<Objector>("second", asked_);
  Objector* first_ = first_owned_.get();  // the engine's, once there is one
  Objector* second_ = second_owned_.get();
};

TEST_F(EngineTest, GrantsWhatIsAllowedAfterTheRecordStands) {
  const auto id = inventory_.add(agent().principal);
  auto engine = make(program());
  const auto who = caller();
  auto verdict = settle(engine.decide(who, policy::Run{id, "make", std::chrono::seconds(5)}));
  ASSERT_TRUE(verdict);
  auto* grant = std::get_if<Grant<policy::Run>>(&*verdict);
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->action().command, "make");
  EXPECT_EQ(grant->who().principal, agent().principal);
  EXPECT_EQ(grant->sandbox()->id, id);
  EXPECT_EQ(grant->correlation().call, who.id.call);
  EXPECT_EQ(grant->rule().id, "most");
  EXPECT_EQ(grant->rule().where, "test.yaml:7:3");
  ASSERT_EQ(sink_.decisions().size(), 1U);
  EXPECT_EQ(sink_.decisions()[0].durability, Durability::durable);
  EXPECT_EQ(sink_.decisions()[0].decision.effect, Effect::allow);
  EXPECT_EQ(sink_.decisions()[0].decision.policy, engine.program()->digest());
  EXPECT_EQ(grant->receipt().seq, sink_.decisions()[0].receipt.seq);
  EXPECT_EQ(grant->cause().id.parent, grant->receipt().seq);
  EXPECT_TRUE(grant->close({.ok = true, .code = "ok"}));
  EXPECT_EQ(asked_, (std::vector<std::string>{"first", "second"}));
}

TEST_F(EngineTest, LeavesExactlyOneOutcomeAGrant) {
  auto engine = make(program());
  {
    auto verdict = settle(engine.decide(caller(), Create{}));
    EXPECT_TRUE(std::get<Grant<Create>>(*verdict).close({.ok = true, .code = "ok"}));
  }
  ASSERT_EQ(sink_.outcomes().size(), 1U);
  EXPECT_EQ(sink_.outcomes()[0].outcome.code, "ok");
  EXPECT_EQ(sink_.outcomes()[0].decision.seq, sink_.decisions()[0].receipt.seq);
  EXPECT_TRUE(sink_.violations().empty());
}

TEST_F(EngineTest, RecordsAbandonedWhenAGrantVanishes) {
  auto engine = make(program());
  settle(engine.decide(caller(), Create{})).reset();
  ASSERT_EQ(sink_.outcomes().size(), 1U);
  EXPECT_EQ(sink_.outcomes()[0].outcome.code, "abandoned");
}

TEST_F(EngineTest, RecordsAbandonedWhenNobodyCollectsTheVerdict) {
  auto engine = make(program());
  {
    auto pending = engine.decide(caller(), Create{});
  }
  ASSERT_EQ(sink_.outcomes().size(), 1U);
  EXPECT_EQ(sink_.outcomes()[0].outcome.code, "abandoned");

  sink_.stall();
  {
    auto pending = engine.decide(caller(), Create{});
  }
  EXPECT_EQ(sink_.outcomes().size(), 1U);
  sink_.release();
  EXPECT_EQ(sink_.outcomes().size(), 2U);
  EXPECT_TRUE(sink_.violations().empty());
}

TEST_F(EngineTest, GivesNoVerdictBeforeTheLogAnswers) {
  auto engine = make(program());
  sink_.stall();
  std::optional<Verdict<Create>> got;
  engine.decide(caller(), Create{}).settle([&](Verdict<Create> verdict) { got.emplace(std::move(verdict)); });
  EXPECT_FALSE(got);
  std::thread log([&] { sink_.release(); });
  log.join();
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::holds_alternative<Grant<Create>>(*got));
}

TEST_F(EngineTest, AbortsWhenAGrantIsClosedTwice) {
  auto engine = make(program());
  auto verdict = settle(engine.decide(caller(), Create{}));
  auto& grant = std::get<Grant<Create>>(*verdict);
  ASSERT_TRUE(grant.close({.ok = true, .code = "ok"}));
  EXPECT_DEATH((void)grant.close({.ok = true, .code = "ok"}), "second time");
}

TEST_F(EngineTest, RefusesWithTheRuleAndLeavesNoOutcome) {
  auto engine = make(program());
  const auto denial = denied(engine.decide(caller(), Create{Network::nat}));
  EXPECT_EQ(denial.code, "deny.rule");
  EXPECT_EQ(denial.rule.id, "no-nat");
  EXPECT_EQ(denial.reason, "no nat here");
  EXPECT_EQ(denial.hint, "use web");
  ASSERT_TRUE(denial.receipt);
  ASSERT_EQ(sink_.decisions().size(), 1U);
  EXPECT_EQ(sink_.decisions()[0].durability, Durability::ordered);
  EXPECT_EQ(sink_.decisions()[0].decision.rule.id, "no-nat");
  EXPECT_TRUE(sink_.outcomes().empty());
  EXPECT_TRUE(asked_.empty());  // enforcers only look at what policy allows
}

TEST_F(EngineTest, AsksAPersonAndBindsTheQuestionToTheAction) {
  auto engine = make(program());
  const auto verdict = settle(engine.decide(caller(), Create{Network::web}));
  ASSERT_TRUE(std::holds_alternative<Ask>(*verdict));
  const auto& ask = std::get<Ask>(*verdict);
  EXPECT_EQ(ask.rule.id, "ask-web");
  EXPECT_EQ(ask.who, "user:sec");
  EXPECT_EQ(ask.within, std::chrono::minutes(2));
  EXPECT_NE(ask.action, Sha256{});
  EXPECT_EQ(sink_.decisions()[0].decision.code, "ask");
  EXPECT_TRUE(sink_.outcomes().empty());
}

TEST_F(EngineTest, AnswersForeignAndUnknownSandboxesAlike) {
  const auto foreign = inventory_.add(PrincipalId{"uid:1001"});
  const auto unknown = SandboxId::random();
  auto engine = make(program());
  auto a = denied(engine.decide(caller(), Screenshot{foreign}));
  auto b = denied(engine.decide(caller(), Screenshot{unknown}));
  EXPECT_EQ(a.code, "sandbox.unknown");
  EXPECT_EQ(b.code, "sandbox.unknown");
  EXPECT_EQ(a.rule, b.rule);
  EXPECT_EQ(a.rule.id, "builtin:own-sandboxes");
  EXPECT_EQ(a.hint, b.hint);
  const auto without_id = [](std::string text, const SandboxId& id) {
    return text.replace(text.find(id.text()), id.text().size(), "");
  };
  EXPECT_EQ(without_id(a.reason, foreign), without_id(b.reason, unknown));
  // Nothing about the other's sandbox stands in the record either.
  EXPECT_FALSE(sink_.decisions()[0].decision.request.sandbox);
}

TEST_F(EngineTest, LetsTheSystemCleanUpAnySandboxAndOnlyThat) {
  const auto foreign = inventory_.add(PrincipalId{"uid:1001"});
  auto engine = make(program());
  auto destroy = settle(engine.decide(caller(system_subject()), Destroy{foreign, DestroyCause::expired}));
  EXPECT_TRUE(std::holds_alternative<Grant<Destroy>>(*destroy));
  auto orphan = settle(engine.decide(caller(system_subject()),
                                     Vmrun{VmrunVerb::delete_vm, "/x.vmx", {}, SandboxId::random()}));
  EXPECT_TRUE(std::holds_alternative<Grant<Vmrun>>(*orphan));
  auto extend = settle(engine.decide(caller(system_subject()), Extend{foreign, std::chrono::seconds(1)}));
  EXPECT_TRUE(std::holds_alternative<Denial>(*extend));
}

TEST_F(EngineTest, AsksEnforcersInOrderAndTheFirstObjectionStands) {
  auto engine = make(program());
  first_->objection = Objection{"path.link", "a link", "copy the file itself", std::nullopt};
  second_->objection = Objection{"limit.sandboxes", "full", "destroy one", std::nullopt};
  const auto denial = denied(engine.decide(caller(), Create{}));
  EXPECT_EQ(denial.code, "path.link");
  EXPECT_EQ(denial.rule.id, "enforcer:first");
  EXPECT_EQ(denial.reason, "a link");
  EXPECT_EQ(asked_, (std::vector<std::string>{"first"}));
  EXPECT_EQ(sink_.decisions()[0].decision.matched.front().id, "most");

  first_->objection.reset();
  second_->objection->rule = RuleRef{"vms", "user", "test.yaml:1:1"};
  EXPECT_EQ(denied(engine.decide(caller(), Create{})).rule.id, "vms");
}

TEST_F(EngineTest, HandsProofsToTheGrant) {
  std::vector<std::unique_ptr<Enforcer>> more;
  more.push_back(std::make_unique<Prover>());
  auto engine = make(program(), std::move(more));
  auto verdict = settle(engine.decide(caller(), Create{}));
  const auto* proof = std::get<Grant<Create>>(*verdict).proof<OpenHandle>();
  ASSERT_NE(proof, nullptr);
  EXPECT_EQ(proof->number, 7);
}

TEST_F(EngineTest, DoesNothingWhenTheLogFails) {
  const auto id = inventory_.add(agent().principal);
  auto engine = make(program());
  sink_.fail_with(Error{"audit.full", "no room"});
  for (const auto& denial :
       {denied(engine.decide(caller(), Create{})), denied(engine.decide(caller(), Create{Network::web})),
        denied(engine.decide(caller(), policy::Run{id, "x", {}})),
        denied(engine.decide(caller(), Screenshot{id}))}) {
    EXPECT_EQ(denial.code, "deny.audit");
    EXPECT_FALSE(denial.receipt);
  }
  // A refusal stays what it is.
  EXPECT_EQ(denied(engine.decide(caller(), Create{Network::nat})).code, "deny.rule");
}

TEST_F(EngineTest, StillDestroysAndListsWhenTheLogFails) {
  const auto id = inventory_.add(agent().principal);
  auto engine = make(program());
  sink_.fail_with(Error{"audit.full", "no room"});
  {
    auto destroy = settle(engine.decide(caller(), Destroy{id}));
    ASSERT_TRUE(std::holds_alternative<Grant<Destroy>>(*destroy));
    auto list = settle(engine.decide(caller(), List{}));
    EXPECT_TRUE(std::holds_alternative<Grant<List>>(*list));
    for (const auto verb : {VmrunVerb::list, VmrunVerb::stop, VmrunVerb::delete_vm}) {
      auto vmrun = settle(engine.decide(caller(), Vmrun{verb, "/x.vmx", {}, id}));
      EXPECT_TRUE(std::holds_alternative<Grant<Vmrun>>(*vmrun)) << spelling(verb);
    }
    auto start = settle(engine.decide(caller(), Vmrun{VmrunVerb::start, "/x.vmx", {}, id}));
    EXPECT_TRUE(std::holds_alternative<Denial>(*start));
    sink_.fail_with(std::nullopt);
    // The log is back: what went on without a record is told there.
    EXPECT_TRUE(std::get<Grant<Destroy>>(*destroy).close({.ok = true, .code = "ok"}));
  }
  ASSERT_FALSE(sink_.events().empty());
  EXPECT_EQ(sink_.events()[0].act, "decision.unrecorded");
  EXPECT_EQ(sink_.events()[0].level, "alert");
  EXPECT_TRUE(sink_.outcomes().empty());
}

TEST_F(EngineTest, RefusesEverythingElseWhileStopped) {
  const auto id = inventory_.add(agent().principal);
  auto engine = make(program());
  engine.refuse_all(Error{"deny.stopped", "the kill switch is on"});
  const auto denial = denied(engine.decide(caller(), Create{}));
  EXPECT_EQ(denial.code, "deny.stopped");
  EXPECT_EQ(denial.reason, "the kill switch is on");
  EXPECT_EQ(denied(engine.decide(caller(), Screenshot{id})).code, "deny.stopped");
  EXPECT_TRUE(std::holds_alternative<Grant<Destroy>>(*settle(engine.decide(caller(), Destroy{id}))));
  EXPECT_TRUE(std::holds_alternative<Grant<List>>(*settle(engine.decide(caller(), List{}))));
  EXPECT_TRUE(std::holds_alternative<Grant<KillSwitch>>(
      *settle(engine.decide(caller(person()), KillSwitch{KillSwitch::Position::off}))));
  engine.refuse_all(std::nullopt);
  EXPECT_TRUE(std::holds_alternative<Grant<Create>>(*settle(engine.decide(caller(), Create{}))));
}

class Statement04Engine : public EngineTest {};

TEST_F(Statement04Engine, AllowsNothingWithoutAPolicyButItsOwnCleaningUp) {
  const auto id = inventory_.add(agent().principal);
  auto engine = make(nullptr);
  EXPECT_EQ(denied(engine.decide(caller(), List{})).code, "deny.default");
  EXPECT_EQ(denied(engine.decide(caller(), Destroy{id})).code, "deny.default");
  engine.refuse_all(Error{"config.policy", "p.yaml:3:1: error[P0107]: unknown key"});
  const auto denial = denied(engine.decide(caller(), List{}));
  EXPECT_EQ(denial.code, "config.policy");
  EXPECT_EQ(denial.reason, "p.yaml:3:1: error[P0107]: unknown key");
  EXPECT_TRUE(std::holds_alternative<Grant<Destroy>>(
      *settle(engine.decide(caller(system_subject()), Destroy{id, DestroyCause::expired}))));
}

TEST_F(EngineTest, DeniesWhenTheProgramBreaks) {
  auto engine = make(std::make_shared<BrokenProgram>());
  const auto denial = denied(engine.decide(caller(), Create{}));
  EXPECT_EQ(denial.code, "deny.internal");
  EXPECT_EQ(denial.reason.find("broken"), std::string::npos);
  EXPECT_EQ(sink_.decisions().size(), 1U);
}

TEST_F(EngineTest, AnswersWhenThereIsNoLogAtAll) {
  Engine::Parts parts;
  parts.program = program();
  parts.inventory = &inventory_;
  parts.clock = &clock_;
  Engine engine(std::move(parts));
  EXPECT_EQ(denied(engine.decide(caller(), Create{})).code, "deny.audit");
  EXPECT_TRUE(std::holds_alternative<Grant<List>>(*settle(engine.decide(caller(), List{}))));
}

TEST(Durability, IsDurableForWhatChangesSomething) {
  const auto id = box();
  const std::pair<Action, Durability> table[] = {
      {Create{}, Durability::durable},
      {policy::Run{id, "", {}}, Durability::durable},
      {Start{id, ""}, Durability::durable},
      {Stop{id, job()}, Durability::durable},
      {CopyIn{id, host("a"), guest("/a"), {}}, Durability::durable},
      {PublishOut{id, guest("/a"), host("a"), {}}, Durability::durable},
      {Destroy{id}, Durability::durable},
      {Extend{id, {}}, Durability::durable},
      {KillSwitch{}, Durability::durable},
      {BuildImage{"x"}, Durability::durable},
      {RemoveImage{"x"}, Durability::durable},
      {Vmrun{VmrunVerb::start, "", {}, id}, Durability::durable},
      {Vmrun{VmrunVerb::copy_to_guest, "", {}, id}, Durability::durable},
      {List{}, Durability::ordered},
      {Check{id, job()}, Durability::ordered},
      {Screenshot{id}, Durability::ordered},
      {FetchOut{id, guest("/a"), host("a")}, Durability::ordered},
      {Click{id}, Durability::ordered},
      {TypeText{id, "x"}, Durability::ordered},
      {PressKey{id, "a"}, Durability::ordered},
      {Vmrun{VmrunVerb::list, "", {}, {}}, Durability::ordered},
      {Vmrun{VmrunVerb::capture_screen, "", {}, id}, Durability::ordered},
  };
  for (const auto& [action, durability] : table)
    EXPECT_EQ(durability_of(action), durability) << name_of(action);
}

TEST(Describe, NeverShowsTypedText) {
  const std::string secret = "correct horse";
  const auto text = canonical(describe(TypeText{box(), secret}, "key"));
  EXPECT_EQ(text.find("horse"), std::string::npos);
  EXPECT_NE(text.find("\"bytes\":13"), std::string::npos);
  EXPECT_NE(text, canonical(describe(TypeText{box(), secret}, "other key")));
  for (const auto* typed : {"a", "shift+a", "+", "\xC3\xA4"}) {
    EXPECT_EQ(describe(PressKey{box(), typed}, "k").find("keys")->find("hmac") == nullptr, false) << typed;
  }
  for (const auto* chord : {"ctrl+a", "Return", "F1", "super"}) {
    EXPECT_EQ(*describe(PressKey{box(), chord}, "k").find("keys"), Json(chord));
  }
}

TEST(Describe, SurvivesNumbersThatJsonCannotHold) {
  const Survey sparse{~std::uint64_t{0}, std::uint64_t{1} << 60U, {}};
  EXPECT_NE(canonical(describe(CopyIn{box(), host("a"), guest("/a"), sparse}, "")).find("9007199254740991"),
            std::string::npos);
}

}  // namespace
}  // namespace policy
