// A record into the log, encoded and chained, on a disk in memory; and durably on the real one. A regression
// makes every call wait longer before its effect. Run it on the disk that will hold the log.
#include <benchmark/benchmark.h>

#include "audit/log.h"
#include "tests/audit/requests.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/faulty_disk.h"

namespace {

void AppendInMemory(benchmark::State& state) {
  fakes::FakeClock clock;
  auto platter = std::make_shared<fakes::Platter>();
  audit::Log log(std::make_unique<fakes::FaultyDisk>(platter), clock);
  const auto decision = requests::decision(requests::run("make -j2 test"));
  for (auto round : state) {
    (void)round;
    log.append(decision, policy::Durability::ordered,
               [](policy::Result<policy::Receipt> receipt) { benchmark::DoNotOptimize(receipt); });
  }
  state.SetItemsProcessed(state.iterations());
}
// The disk in memory keeps everything, so the number of rounds is bounded.
BENCHMARK(AppendInMemory)->Iterations(100'000);

}  // namespace
