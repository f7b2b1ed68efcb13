// Other rules come into force among ten thousand, under load; and what a decision costs is counted, not
// timed.
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/compile.h"
#include "policy/engine.h"
#include "tests/bench/counted_memory.h"
#include "tests/bench/many_rules.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using bench::Shape;

#ifdef SALLYPORT_SANITIZED
constexpr std::size_t kRules = 1'000;
#else
constexpr std::size_t kRules = 10'000;
#endif
constexpr std::size_t kCallers = 64;

// A log that lets its oldest record stand when it is told to, and keeps what each decision was.
class SlowLog final : public DecisionSink {
 public:
  void append(const Decision& decision, Durability, Completion done) override {
    last = {decision.effect, decision.rule, decision.policy};
    waiting_.push_back(std::move(done));
  }
  Result<Receipt> close(const Receipt&, const Request&, const Outcome&) override { return next(); }
  Result<Receipt> note(const Event&) override { return next(); }
  void flush_one() {
    auto done = std::move(waiting_.front());
    waiting_.pop_front();
    done(next());
  }
  std::size_t waiting() const { return waiting_.size(); }

  struct Decided {
    Effect effect = Effect::ask;
    RuleRef rule;
    Sha256 policy;
  } last;

 private:
  Receipt next() { return {"slow", ++seq_, std::string(64, '0')}; }
  std::uint64_t seq_ = 0;
  std::deque<Completion> waiting_;
};

// The same folders, allowed by `rule-…` or refused by `stop-…`.
std::vector<Source> texts(Effect effect) {
  auto sources = bench::policy_text(Shape::dense, kRules);
  if (effect == Effect::allow) return sources;
  for (auto& source : sources) {
    std::string text;
    std::size_t at = 0;
    const std::string from = "  rule-", allow = "{ allow: ";
    while (true) {
      const auto next = source.text.find(from, at);
      text += source.text.substr(at, next - at);
      if (next == std::string::npos) break;
      const auto verb = source.text.find(allow, next);
      text += "  stop-" + source.text.substr(next + from.size(), verb - next - from.size()) + "{ deny: ";
      at = verb + allow.size();
    }
    source.text = std::move(text);
  }
  return sources;
}

// 64 callers, each with a decision whose record does not stand yet, while a policy of 10,000 rules is
// compiled beside them and policies come into force: each decision is made by one policy, and its verdict is
// that one's.
TEST(Statement15Load, NoDecisionFailsOrMixesTwoPolicies) {
  SlowLog log;
  fakes::FakeInventory inventory;
  fakes::FakeClock clock;
  const Caller caller{[] {
                        auto who = questions::agent();
                        who.os_user = "user0";
                        return who;
                      }(),
                      {CallId::random(), "", {}}};
  const auto box = inventory.add(caller.who.principal);
  const auto compiled = [](Effect effect) { return compile(texts(effect)).program; };
  Engine::Parts parts;
  const auto allows = compiled(Effect::allow);
  std::shared_ptr<const Program> denies;
  parts.program = allows;
  ASSERT_TRUE(parts.program);
  parts.sink = &log;
  parts.inventory = &inventory;
  parts.clock = &clock;
  parts.settings = known_settings();
  Engine engine(std::move(parts));

  auto in_force = Effect::allow;
  auto coming = std::async(std::launch::async, compiled, Effect::deny);
  std::size_t decided = 0, settled = 0, changed = 0, since = 0;
  while (changed < 4) {
    if (coming.valid() && coming.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      denies = coming.get();
      ASSERT_TRUE(denies);
    }
    if (since >= 2 * kCallers && denies) {
      ASSERT_EQ(log.waiting(), kCallers) << "all callers wait for the verdict of the old one";
      in_force = in_force == Effect::allow ? Effect::deny : Effect::allow;
      engine.put_in_force(in_force == Effect::allow ? allows : denies);
      ++changed;
      since = 0;
    }
    const auto rule = decided * 7919 % kRules;
    const CopyIn copy{box, questions::host(bench::folder(rule) + "/a"), questions::guest("/tmp/a"),
                      questions::survey(1, 1)};
    const auto policy = engine.program()->digest();
    const auto name = (in_force == Effect::allow ? "rule-" : "stop-") + std::to_string(rule);
    engine.decide(caller, copy).settle([&settled, policy, name, effect = in_force](Verdict<CopyIn> verdict) {
      ++settled;
      if (effect == Effect::allow) {
        auto* grant = std::get_if<Grant<CopyIn>>(&verdict);
        ASSERT_NE(grant, nullptr) << name;
        EXPECT_EQ(grant->rule().id, name);
        (void)grant->close({.ok = true, .code = "ok"});
      } else {
        const auto* denial = std::get_if<Denial>(&verdict);
        ASSERT_NE(denial, nullptr) << name;
        EXPECT_EQ(denial->code, "deny.rule");
        EXPECT_EQ(denial->rule.id, name);
        EXPECT_EQ(denial->policy, policy);
      }
    });
    ASSERT_EQ(log.last.policy, policy);
    ASSERT_EQ(log.last.effect, in_force);
    ASSERT_EQ(log.last.rule.id, name);
    ++decided;
    ++since;
    if (log.waiting() > kCallers) log.flush_one();
  }
  while (log.waiting() != 0) log.flush_one();
  EXPECT_EQ(settled, decided);
  EXPECT_GT(decided, 8 * kCallers);
}

TEST(Statement17Cost, AllowingAllocatesNothing) {
#ifdef SALLYPORT_SANITIZED
  GTEST_SKIP() << "sanitizers have a heap of their own";
#else
  for (const auto shape : bench::kShapes) {
    const auto program = bench::program(shape, 1000);
    const auto asked = bench::questions(shape, 1000, 2000);
    RuleProgram::Scratch scratch;
    std::size_t allowed = 0;
    for (int round = 0; round < 2; ++round) {  // the first makes room
      for (const auto& request : asked) {
        const auto before = bench::heap().allocations;
        const auto ruling = program->rule_on({request, known_settings()}, scratch);
        const auto taken = bench::heap().allocations - before;
        if (round == 0) continue;
        ASSERT_EQ(taken, 0U) << spelling(shape);
        allowed += ruling.effect == Effect::allow ? 1 : 0;
      }
    }
    EXPECT_GT(allowed, 150U) << spelling(shape);
  }
  const auto before = bench::heap().allocations;
  EXPECT_EQ(*std::make_unique<int>(7), 7);
  EXPECT_GT(bench::heap().allocations, before) << "allocations are counted";
#endif
}

// Rules that are asked about a question, however many there are.
TEST(Statement17Cost, AThousandTimesTheRulesAskNoMoreOfThem) {
  const auto asked_of = [](Shape shape, std::size_t rules) {
    const auto program = bench::program(shape, rules);
    RuleProgram::Scratch scratch;
    std::size_t asked = 0;
    for (const auto& request : bench::questions(shape, rules, 2000)) {
      (void)program->rule_on({request, known_settings()}, scratch);
      asked += scratch.search.found.size();
    }
    return asked;
  };
  for (const auto shape : bench::kShapes) {
    const auto few = asked_of(shape, 10), many = asked_of(shape, kRules);
    EXPECT_GT(few, 0U);
    EXPECT_LE(many, 4 * few) << spelling(shape);
  }
}

}  // namespace
}  // namespace policy
