// The policy alone: one question to programs of 10 to 10,000 rules, and what compiling 10,000 takes. A
// regression in the first is paid by every call and every web request of every sandbox; it must not grow with
// the number of rules. One in the second is paid at start and at each reload; one in checks by whoever runs
// `policy check`.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "policy/checks.h"
#include "policy/regex.h"
#include "tests/bench/counted_memory.h"
#include "tests/bench/many_rules.h"
#include "tests/policy/dice.h"

namespace {

using bench::Shape;
using Clock = std::chrono::steady_clock;
using Compiler = policy::Compiled (*)(std::span<const policy::Source>, const policy::Facts&);

constexpr std::size_t kQuestions = 8192;
// What 10,000 rules may take while they are compiled and checked.
constexpr std::size_t kMostBytes = 50'000'000;

// Times of single calls, in nanoseconds. What takes longer than the last counts as the last.
class Times final {
 public:
  void add(std::chrono::nanoseconds time) {
    const auto ns = static_cast<std::size_t>(std::max<std::int64_t>(0, time.count()));
    ++counts_[std::min(ns, counts_.size() - 1)];
    ++total_;
  }
  double quantile(double of) const {
    std::size_t seen = 0;
    for (std::size_t ns = 0; ns < counts_.size(); ++ns) {
      seen += counts_[ns];
      if (static_cast<double>(seen) >= of * static_cast<double>(total_)) return static_cast<double>(ns);
    }
    return 0;
  }

 private:
  std::vector<std::size_t> counts_ = std::vector<std::size_t>(100'000);
  std::size_t total_ = 0;
};

// Each round asks every question once and takes the time of each, that of reading the clock included.
template <class Ask>
void each(benchmark::State& state, Shape shape, const Ask& ask) {
  const auto rules = static_cast<std::size_t>(state.range(0));
  const auto questions = bench::questions(shape, rules, kQuestions);
  Times times, clock;
  for (auto round : state) {
    (void)round;
    for (const auto& question : questions) {
      const auto before = Clock::now();
      ask(question);
      times.add(Clock::now() - before);
    }
    state.PauseTiming();
    for (std::size_t i = 0; i < kQuestions; ++i) {
      const auto before = Clock::now();
      clock.add(Clock::now() - before);
    }
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kQuestions));
  state.counters["p50_ns"] = times.quantile(0.5);
  state.counters["p99_ns"] = times.quantile(0.99);
  state.counters["clock_ns"] = clock.quantile(0.5);
}

// What the rules say, before it is put into words.
void Evaluate(benchmark::State& state, Shape shape) {
  const auto program = bench::program(shape, static_cast<std::size_t>(state.range(0)));
  const auto& settings = policy::known_settings();
  policy::RuleProgram::Scratch scratch;
  std::size_t allowed = 0, asked = 0, allocations = 0;
  each(state, shape, [&](const policy::Request& request) {
    const auto before = bench::heap().allocations;
    const auto ruling = program->rule_on({request, settings}, scratch);
    // The first round makes room.
    if (asked >= kQuestions) allocations += bench::heap().allocations - before;
    allowed += ruling.effect == policy::Effect::allow ? 1 : 0;
    ++asked;
  });
  if (allocations != 0) state.SkipWithError("evaluating allocates memory");
  if (allowed < asked / 12 || allowed > asked / 8) state.SkipWithError("one question in ten is not allowed");
  state.counters["allocations"] = static_cast<double>(allocations);
  state.counters["allowed"] = static_cast<double>(allowed) / static_cast<double>(asked);
}

// The whole judgement, with the reason and the hint of a refusal.
void Judge(benchmark::State& state, Shape shape) {
  const auto program = bench::program(shape, static_cast<std::size_t>(state.range(0)));
  const auto& settings = policy::known_settings();
  each(state, shape, [&](const policy::Request& request) {
    policy::Clamp clamp;
    benchmark::DoNotOptimize(program->judge(policy::Question{request, settings}, clamp));
  });
}

// From text to program, with the tests in it run; with `compile` compile_and_check(), what `policy check`
// does.
void load(benchmark::State& state, const std::vector<policy::Source>& sources, Compiler compile) {
  const auto before = bench::heap().bytes;
  std::size_t kept = 0, peak = 0, warnings = 0;
  for (auto round : state) {
    (void)round;
    bench::forget_peak();
    const auto compiled = compile(sources, {});
    if (!compiled.program) {
      state.SkipWithError(compiled.error().message.c_str());
      return;
    }
    warnings = compiled.diagnostics.size();
    kept = bench::heap().bytes - before;
    peak = bench::heap().peak - before;
  }
  if (peak > kMostBytes) state.SkipWithError("it takes more than 50 MB");
  state.counters["peak_MB"] = static_cast<double>(peak) / 1e6;
  state.counters["program_MB"] = static_cast<double>(kept) / 1e6;
  state.counters["warnings"] = static_cast<double>(warnings);
}
void Compile(benchmark::State& state, Shape shape) {
  load(state, bench::policy_text(shape, static_cast<std::size_t>(state.range(0)), 1000), policy::compile);
}
void Check(benchmark::State& state, Shape shape) {
  load(state, bench::policy_text(shape, static_cast<std::size_t>(state.range(0)), 1000),
       policy::compile_and_check);
}

// Policies in which checks have most to compare: every rule is about the same, every permission is refused by
// another rule, and every rule stands in two tiers.
enum class Overlap { alike, refused, tiers };
void CheckOverlap(benchmark::State& state, Overlap overlap) {
  const auto rules = static_cast<std::size_t>(state.range(0));
  std::vector<policy::Source> sources;
  if (overlap == Overlap::tiers) {
    sources = bench::policy_text(Shape::dense, rules / 2);
    for (auto above : bench::policy_text(Shape::dense, rules / 2)) {
      above.text.replace(above.text.find("tier: user"), 10, "tier: org");
      above.tier = policy::Tier::org;
      sources.push_back(std::move(above));
    }
  } else {
    for (std::size_t from = 0; from < rules; from += 2500) {
      std::string text = "sallyport: policy/v1\ntier: user\nname: many\ndefault: deny\nactions:\n";
      for (auto rule = from; rule < std::min(from + 2500, rules); ++rule) {
        const auto id = "  rule-" + std::to_string(rule);
        text += overlap == Overlap::alike
                    ? id + ": { allow: list }\n"
                    : id + (rule % 2 == 0 ? ": { allow" : ": { deny") +
                          ": copy_in, host_path: \"transfer:" + bench::folder(rule - rule % 2) + "/**\" }\n";
      }
      sources.push_back({"overlap-" + std::to_string(from) + ".yaml", std::move(text), policy::Tier::user});
    }
  }
  load(state, sources, policy::compile_and_check);
}

// The regular expressions of a policy that cost most: as many as there may be, or with tables as large as
// they may be, over the longest text that is looked at. `cold`: the tables are in no cache.
enum class Costly { most, largest };
enum class Tables { cached, cold };
void WorstExpressions(benchmark::State& state, Costly costly, Tables tables) {
  // Random letters visit the hundreds of states of such a pattern at random.
  const auto* pattern = costly == Costly::most ? "[ab]*a[ab]{7}" : "[ab]*a[ab]{9}|[c-z][A-Z][0-9]xyzwvut";
  std::vector<policy::Regex> expressions;
  policy::RegexBudget budget;
  std::size_t cells = 0;
  for (;;) {
    auto regex = policy::Regex::parse(pattern, policy::Regex::Where::whole);
    if (!regex) return state.SkipWithError(regex.error().message.c_str());
    if (!budget.take_one() || !budget.take_tables(*regex)) break;
    cells += regex->cells();
    expressions.push_back(std::move(*regex));
  }
  std::string text;
  policy::Dice dice(1);
  while (text.size() < policy::Regex::kMaxText) text += dice.chance(50) ? 'a' : 'b';
  std::vector<char> others(tables == Tables::cold ? std::size_t{64} << 20U : 0);
  for (auto round : state) {
    (void)round;
    if (tables == Tables::cold) {
      state.PauseTiming();
      for (auto& byte : others) ++byte;
      benchmark::DoNotOptimize(others.data());
      state.ResumeTiming();
    }
    for (const auto& expression : expressions) benchmark::DoNotOptimize(expression.found_in(text));
  }
  state.counters["expressions"] = static_cast<double>(expressions.size());
  state.counters["tables_KiB"] = static_cast<double>(cells) * 2 / 1024;
  const auto bytes = static_cast<double>(expressions.size() * text.size());
  state.counters["per_byte"] = benchmark::Counter(static_cast<double>(state.iterations()) * bytes,
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(WorstExpressions, most, Costly::most, Tables::cached)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(WorstExpressions, most_cold, Costly::most, Tables::cold)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(WorstExpressions, largest, Costly::largest, Tables::cached)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(WorstExpressions, largest_cold, Costly::largest, Tables::cold)
    ->Unit(benchmark::kMicrosecond);

#define SHAPES(function, ...)                                      \
  BENCHMARK_CAPTURE(function, spread, Shape::spread)->__VA_ARGS__; \
  BENCHMARK_CAPTURE(function, dense, Shape::dense)->__VA_ARGS__;   \
  BENCHMARK_CAPTURE(function, mixed, Shape::mixed)->__VA_ARGS__;   \
  BENCHMARK_CAPTURE(function, hosts, Shape::hosts)->__VA_ARGS__
SHAPES(Evaluate, RangeMultiplier(10)->Range(10, 10'000)->Unit(benchmark::kMicrosecond));
SHAPES(Judge, RangeMultiplier(10)->Range(10, 10'000)->Unit(benchmark::kMicrosecond));
SHAPES(Compile, Arg(10'000)->Unit(benchmark::kMillisecond));
SHAPES(Check, Arg(2'500)->Arg(10'000)->Unit(benchmark::kMillisecond));
#undef SHAPES
BENCHMARK_CAPTURE(CheckOverlap, alike, Overlap::alike)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CheckOverlap, refused, Overlap::refused)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CheckOverlap, tiers, Overlap::tiers)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
