// A tool call from its line to its typed action. A regression lowers the calls a second over stdio.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "gateway/mcp/json_reader.h"
#include "gateway/tools/table.h"

namespace {

const std::string kLine =
    R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sandbox_run","arguments":{)"
    R"("sandbox_id":"sbx-0123456789abcdef0123456789abcdef","command":"make -j2 test","timeout_seconds":60}}})";

void ReadAndDecode(benchmark::State& state) {
  const auto* tool = gateway::tools::find("sandbox_run");
  for (auto round : state) {
    (void)round;
    const auto read = gateway::mcp::read_json(kLine);
    auto call = gateway::tools::decode(*tool, (*read.value)["params"]["arguments"]);
    if (!call) state.SkipWithError("the call was not decoded");
    benchmark::DoNotOptimize(call);
  }
}
BENCHMARK(ReadAndDecode);

void ListTools(benchmark::State& state) {
  for (auto round : state) {
    (void)round;
    benchmark::DoNotOptimize(gateway::tools::list_json());
  }
}
BENCHMARK(ListTools);

}  // namespace
