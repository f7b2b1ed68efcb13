// One decision under the default policy, without the log's disk. A regression makes every call and every
// vmrun command of every sandbox slower; it stays far below the milliseconds of anything it decides about.
#include <benchmark/benchmark.h>

#include <utility>

#include "policy/compile.h"
#include "policy/engine.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_inventory.h"
#include "tests/policy/questions.h"

namespace {

// A log that numbers and forgets.
class NoLog final : public policy::DecisionSink {
 public:
  void append(const policy::Decision&, policy::Durability, policy::Completion done) override { done(next()); }
  policy::Result<policy::Receipt> close(const policy::Receipt&, const policy::Request&,
                                        const policy::Outcome&) override {
    return next();
  }
  policy::Result<policy::Receipt> note(const policy::Event&) override { return next(); }

 private:
  policy::Receipt next() { return {"bench", ++seq_, std::string(64, '0')}; }
  std::uint64_t seq_ = 0;
};

struct World {
  fakes::FakeClock clock;
  fakes::FakeInventory inventory;
  NoLog log;
  policy::Caller caller{policy::questions::agent(), {policy::CallId::random(), "", {}}};
  policy::SandboxId sandbox = inventory.add(caller.who.principal);
  policy::Engine engine{{.program = policy::load_default().program,
                         .enforcers = {},
                         .sink = &log,
                         .inventory = &inventory,
                         .clock = &clock,
                         .settings = policy::known_settings()}};
};

template <class A>
void decide(benchmark::State& state, World& world, const A& action) {
  for (auto round : state) {
    (void)round;
    auto pending = world.engine.decide(world.caller, action);
    std::move(pending).settle([](policy::Verdict<A> verdict) {
      if (auto* grant = std::get_if<policy::Grant<A>>(&verdict))
        (void)grant->close({.ok = true, .code = "ok"});
      benchmark::DoNotOptimize(verdict);
    });
  }
}

void DecideRun(benchmark::State& state) {
  World world;
  decide(state, world, policy::Run{world.sandbox, "make -j2 test", std::chrono::seconds(60)});
}
BENCHMARK(DecideRun);

void DecideRefusedCreate(benchmark::State& state) {
  World world;
  decide(state, world, policy::Create{policy::Network::nat});
}
BENCHMARK(DecideRefusedCreate);

void CompileDefaultPolicy(benchmark::State& state) {
  for (auto round : state) {
    (void)round;
    benchmark::DoNotOptimize(policy::load_default());
  }
}
BENCHMARK(CompileDefaultPolicy)->Unit(benchmark::kMillisecond);

}  // namespace
