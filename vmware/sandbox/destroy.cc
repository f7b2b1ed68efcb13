#include <cstdio>
#include <utility>

#include "vmware/pause.h"
#include "vmware/sandbox/owner.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

std::string utc(TimePoint time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[40] = {};
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

policy::Error farewell(policy::DestroyCause why, TimePoint now) {
  const auto at = utc(now);
  switch (why) {
    case policy::DestroyCause::expired:
      return {"sandbox.expired",
              "the sandbox reached its age limit and was destroyed at " + at + "; create another"};
    case policy::DestroyCause::orphaned:
      return {"sandbox.destroyed", "the sandbox belonged to nobody any more and was destroyed at " + at};
    case policy::DestroyCause::kill_switch:
      return {"sandbox.destroyed", "the sandbox was destroyed by the kill switch at " + at};
    case policy::DestroyCause::withdrawn:
      return {"sandbox.destroyed",
              "a command in the sandbox was refused by a new policy and could not be ended otherwise, so the "
              "sandbox was destroyed at " +
                  at};
    case policy::DestroyCause::asked:
    case policy::DestroyCause::rolled_back:
    case policy::DestroyCause::shutdown:
      break;
  }
  return {"sandbox.destroyed", "the sandbox was destroyed at " + at + "; create another"};
}

}  // namespace

asio::awaitable<Result<void>> Owner::destroy(policy::Grant<policy::Destroy> grant) {
  const auto began = clock_.since_boot();
  auto done = co_await take_down(grant.cause(), grant.action().sandbox, grant.action().cause);
  policy::Outcome outcome;
  outcome.ok = done.has_value();
  outcome.code = done ? "ok" : done.error().code;
  outcome.duration_us =
      std::chrono::duration_cast<std::chrono::microseconds>(clock_.since_boot() - began).count();
  // A full log must not keep machines alive, nor say that one is alive that is not.
  (void)grant.close(outcome);
  co_return done;
}

asio::awaitable<Result<void>> Owner::take_down(policy::Caller cause, policy::SandboxId id,
                                               policy::DestroyCause why) {
  const auto sandbox = registry_.find(id);
  if (!sandbox) {
    if (registry_.find_gone(id) != nullptr) co_return Result<void>();
    co_return policy::fail("sandbox.unknown", "there is no sandbox `" + id.text() + "`");
  }
  sandbox->state = SandboxState::destroying;
  if (sandbox->farewell.code.empty()) {
    sandbox->farewell = farewell(why, std::chrono::floor<seconds>(clock_.wall()));
  }
  sandbox->ending.request_stop();
  auto turn = co_await sandbox->destroying.take(std::chrono::minutes(5), std::stop_token());
  if (!turn) co_return tl::unexpected(turn.error());
  if (registry_.find(id) != sandbox) co_return Result<void>();

  if (auto marked = guard(settings_.clones, id); !marked) {
    if (marked.error().code != "marker.missing") co_return tl::unexpected(marked.error());
  } else {
    sandbox->marker.state = SandboxMarker::State::destroying;
    (void)update_marker(settings_.clones, sandbox->marker);
    auto off = co_await power_off(cause, sandbox);
    if (!off) co_return off;
    auto erased = co_await erase(std::move(cause), sandbox);
    if (!erased) co_return erased;
  }
  (void)remove_tree(kept_jobs(), id.text());
  driver_.forget(sandbox->vmx);
  std::optional<policy::Error> last;
  if (why != policy::DestroyCause::rolled_back) {
    last = sandbox->farewell;
  }
  registry_.remove(id, std::move(last));
  co_return Result<void>();
}

asio::awaitable<Result<bool>> Owner::runs(policy::Caller cause, std::string vmx,
                                          Driver::Freshness freshness) {
  auto running = co_await driver_.running(std::move(cause), freshness, std::stop_token());
  if (!running) co_return tl::unexpected(running.error());
  for (const auto& path : *running) {
    if (names_file(path, vmx)) co_return true;
  }
  co_return false;
}

// Off is what two lists in a row say, as the list lags behind.
asio::awaitable<Result<void>> Owner::power_off(policy::Caller cause, Held sandbox) {
  if (!file_size(sandbox->vmx)) co_return Result<void>();  // never cloned
  const auto give_up = steady_clock::now() + settings_.power_off_patience;
  auto stopped = co_await driver_.call(cause, stop_command(sandbox->vmx, sandbox->marker.id, StopHow::hard),
                                       std::stop_token());
  const bool was_off = !stopped && stopped.error().code == "guest.gone";
  for (int absent = was_off ? 1 : 0; absent < 2;) {
    auto running = co_await runs(cause, sandbox->vmx, Driver::Freshness::fresh);
    if (!running) co_return tl::unexpected(running.error());
    absent = *running ? 0 : absent + 1;
    if (absent == 2) break;
    if (steady_clock::now() >= give_up) {
      co_return policy::fail(
          "vm.stuck", "the sandbox's machine does not switch off; it is tried again at the next sweep");
    }
    co_await pause(kBetweenLists, std::stop_token());
    if (*running) {
      auto command = stop_command(sandbox->vmx, sandbox->marker.id, StopHow::hard);
      co_await driver_.call(cause, std::move(command), std::stop_token());
    }
  }
  co_return Result<void>();
}

// vmrun takes the clone out of the base's records; what it leaves behind, or all of it when it fails, goes by
// our own hand.
asio::awaitable<Result<void>> Owner::erase(policy::Caller cause, Held sandbox) {
  const auto id = sandbox->marker.id;
  if (file_size(sandbox->vmx)) {
    auto deleted =
        co_await driver_.call(std::move(cause), delete_command(sandbox->vmx, id), std::stop_token());
    if (!deleted && deleted.error().code == "vm.running") co_return tl::unexpected(deleted.error());
  }
  auto removed = remove_marked_folder(settings_.clones, id);
  if (!removed && removed.error().code == "marker.missing") {
    // vmrun removed the marker or the whole folder with the machine; we held the guard before it did.
    removed = remove_tree(settings_.clones, id.text());
  }
  co_return removed;
}

}  // namespace vmware
