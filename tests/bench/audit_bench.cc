// What the log costs. A regression here is felt as latency of every call: encoding on the deciding thread,
// the flush in front of everything that changes a machine. Compare figures only within one run.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "audit/disk.h"
#include "audit/log.h"
#include "audit/record.h"
#include "audit/verify.h"
#include "policy/digest.h"
#include "tests/audit/requests.h"

namespace {

// A folder on the disk that BENCH_DIR names, or the current one.
class Folder final {
 public:
  Folder() {
    const char* base = std::getenv("BENCH_DIR");
    path_ = std::filesystem::path(base != nullptr ? base : ".") / ("audit-bench-" + policy::random_hex32());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

const policy::SystemClock kClock;

policy::Decision sample(policy::Effect effect = policy::Effect::deny) {
  return requests::decision(requests::run("cd /work && make -j2 test 2>&1 | tail -40"), effect);
}

void EncodeAndChain(benchmark::State& state) {
  const audit::Redactor redactor("a key of thirty-two bytes, bench");
  const auto decision = sample();
  audit::Hasher hasher;
  std::string line, prev = audit::genesis("0a1b2c3d", "");
  std::uint64_t seq = 0;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const auto draft = audit::draft(decision, policy::Durability::ordered, redactor);
    const auto wall = kClock.wall();
    const auto id = audit::uuid_v7(wall, seq);
    prev = audit::compose(draft, {"0a1b2c3d", seq, prev, wall, kClock.since_boot(), id}, hasher, line);
    ++seq;
    bytes += static_cast<std::int64_t>(line.size());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(seq));
  state.SetBytesProcessed(bytes);
}
BENCHMARK(EncodeAndChain);

// The part that needs the lock: stamp, hash, copy.
void ChainOnly(benchmark::State& state) {
  const audit::Redactor redactor("a key of thirty-two bytes, bench");
  const auto draft = audit::draft(sample(), policy::Durability::ordered, redactor);
  audit::Hasher hasher;
  std::string line, prev = audit::genesis("0a1b2c3d", "");
  std::uint64_t seq = 0;
  for (auto _ : state) {
    const auto wall = kClock.wall();
    const auto id = audit::uuid_v7(wall, seq);
    prev = audit::compose(draft, {"0a1b2c3d", seq++, prev, wall, kClock.since_boot(), id}, hasher, line);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(seq));
}
BENCHMARK(ChainOnly);

std::string one_line() {
  const audit::Redactor redactor("a key of thirty-two bytes, bench");
  const auto draft = audit::draft(sample(), policy::Durability::ordered, redactor);
  audit::Hasher hasher;
  std::string line;
  audit::compose(draft, {"0a1b2c3d", 1, std::string(64, '0'), {}, {}, std::string(36, '0')}, hasher, line);
  return line;
}

void PlainWrite(benchmark::State& state) {
  const Folder folder;
  const auto disk = audit::own_disk(folder.path());
  const auto file = (*disk)->open("plain", audit::Disk::Open::create);
  const auto line = one_line();
  for (auto _ : state) benchmark::DoNotOptimize((*file)->append(line));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PlainWrite)->UseRealTime();

void OrderedAppend(benchmark::State& state) {
  const Folder folder;
  const auto log = audit::Log::open(folder.path(), kClock);
  const auto decision = sample();
  for (auto _ : state) {
    (*log)->append(decision, policy::Durability::ordered, [&](const auto& result) {
      if (!result) state.SkipWithError("the log refused");
    });
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OrderedAppend)->UseRealTime();

void OneCallerWriteAndFlush(benchmark::State& state) {
  const Folder folder;
  const auto disk = audit::own_disk(folder.path());
  const auto file = (*disk)->open("plain", audit::Disk::Open::create);
  const auto line = one_line();
  for (auto _ : state) {
    benchmark::DoNotOptimize((*file)->append(line));
    benchmark::DoNotOptimize((*file)->sync());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneCallerWriteAndFlush)->UseRealTime();

// The same bytes as 64 callers bring, in one write and one flush: the most a log could do.
void BatchOf64WriteAndFlush(benchmark::State& state) {
  const Folder folder;
  const auto disk = audit::own_disk(folder.path());
  const auto file = (*disk)->open("plain", audit::Disk::Open::create);
  std::string batch;
  for (int i = 0; i < 64; ++i) batch += one_line();
  for (auto _ : state) {
    benchmark::DoNotOptimize((*file)->append(batch));
    benchmark::DoNotOptimize((*file)->sync());
  }
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(BatchOf64WriteAndFlush)->UseRealTime();

// `callers` records are always waiting: each completion brings the next, as coroutines in the gateway do.
void DurableAppend(benchmark::State& state) {
  const Folder folder;
  const auto opened = audit::Log::open(folder.path(), kClock);
  audit::Log& log = **opened;
  const auto decision = sample();
  const auto callers = static_cast<std::int64_t>(state.range(0));
  std::atomic<std::int64_t> done = 0;
  for (auto _ : state) {
    const auto target = done + callers;
    for (std::int64_t i = 0; i < callers; ++i) {
      log.append(decision, policy::Durability::durable, [&](const auto&) {
        if (++done == target) done.notify_one();
      });
    }
    for (auto seen = done.load(); seen < target; seen = done.load()) done.wait(seen);
  }
  state.SetItemsProcessed(done);
}
BENCHMARK(DurableAppend)->Arg(1)->Arg(64)->UseRealTime();

void Sha256Of(benchmark::State& state) {
  const std::string bytes(1 << 20, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(policy::sha256(bytes));
  state.SetBytesProcessed(state.iterations() * (1 << 20));
}
BENCHMARK(Sha256Of);

void Verify(benchmark::State& state) {
  const Folder folder;
  {
    const auto log = audit::Log::open(folder.path(), kClock);
    const auto decision = sample();
    for (int i = 0; i < 30'000; ++i)
      (*log)->append(decision, policy::Durability::ordered, [](const auto&) {});
  }
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const auto report = audit::verify(folder.path());
    if (audit::exit_code(report.verdict) != 0) state.SkipWithError("the log does not verify");
    bytes += static_cast<std::int64_t>(report.bytes);
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(Verify);

}  // namespace
