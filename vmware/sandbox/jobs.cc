#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "vmware/host_files.h"
#include "vmware/pause.h"
#include "vmware/sandbox/owner.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kKeptJobs = 64;  // ended ones, a sandbox; up to 2 MB each
constexpr seconds kKillTime{12};       // the guest's own time to end a job's processes
constexpr milliseconds kProgressPeriod{5000};

policy::Outcome outcome_of(const Result<JobView>& view) {
  policy::Outcome outcome;
  if (!view) return outcome;
  if (view->status == JobStatus::running) outcome.code = "running";
  if (view->status == JobStatus::timed_out) outcome.code = "timeout";
  outcome.exit = view->exit_code;
  outcome.bytes_out = view->out.total + view->err.total;
  outcome.duration_us = std::chrono::duration_cast<std::chrono::microseconds>(view->duration).count();
  outcome.details["job"] = policy::Json(view->job.text());
  return outcome;
}

policy::Error no_such_job(const policy::JobId& job) {
  return {"job.unknown",
          "this sandbox has no command `" + job.text() + "`; the oldest ended ones are forgotten"};
}

}  // namespace

std::string Owner::kept_jobs() const { return settings_.state + "/jobs"; }

std::string Owner::kept_path(const Sandbox& sandbox, const policy::JobId& job) const {
  return kept_jobs() + "/" + sandbox.marker.id.text() + "/" + job.text();
}

Result<GuestReport> Owner::kept_report(const Sandbox& sandbox, const policy::JobId& job) const {
  const auto bytes = read_file(kept_path(sandbox, job), kMaxReport);
  if (!bytes) return policy::fail("job.unknown", "what the command left behind is not kept any more");
  return parse_report(*bytes, job.hex());
}

Job& Owner::new_job(Sandbox& sandbox, const policy::JobId& id, JobKind kind) const {
  Job job;
  job.kind = kind;
  job.began = clock_.since_boot();
  job.number = sandbox.jobs_ever++;
  return sandbox.jobs.insert_or_assign(id, std::move(job)).first->second;
}

// An ended job is kept on the host and may go in the guest; of many ended ones the oldest is forgotten.
void Owner::settle(Sandbox& sandbox, const policy::JobId& id, const GuestReport& report) {
  const auto at = sandbox.jobs.find(id);
  if (at == sandbox.jobs.end()) return;
  at->second.status = report.status;
  if (report.status == JobStatus::running) return;
  at->second.standing = {};
  const auto path = kept_path(sandbox, id);
  if (!make_folder(folder_of(path), MakeFolder::kept)) return;
  if (!write_file(path, write_report(report, id.hex()))) return;
  if (!at->second.kept) sandbox.forget.emplace_back(id.hex());
  at->second.kept = true;

  const auto ended = [](const auto& entry) { return entry.second.status != JobStatus::running; };
  auto many = std::count_if(sandbox.jobs.begin(), sandbox.jobs.end(), ended);
  while (static_cast<std::size_t>(many) > kKeptJobs) {
    auto oldest = sandbox.jobs.end();
    for (auto job = sandbox.jobs.begin(); job != sandbox.jobs.end(); ++job) {
      if (!ended(*job)) continue;
      if (oldest == sandbox.jobs.end() || job->second.number < oldest->second.number) oldest = job;
    }
    (void)remove_file(kept_path(sandbox, oldest->first));
    sandbox.jobs.erase(oldest);
    --many;
  }
}

JobView Owner::view(const Sandbox& sandbox, const policy::JobId& id, GuestReport report) const {
  JobView view{id, report.status, std::nullopt, {}, {}, report.ran, sandbox.expires()};
  if (report.status == JobStatus::exited) view.exit_code = report.exit_code;
  view.out = std::move(report.out);
  view.err = std::move(report.err);
  return view;
}

// For a caller who does not wait for the answer: what it killed is not looked at.
asio::awaitable<void> Owner::kill_quietly(policy::Caller cause, Held sandbox, std::string token) {
  const auto stop = sandbox->ending.get_token();
  co_await link_.end(std::move(cause), at(*sandbox), std::move(token), GuestLink::Afterwards::nothing, stop);
}

// What cannot be ended in the guest, because the new policy refuses that too or the guest does not answer,
// ends with its machine.
asio::awaitable<void> Owner::withdraw(policy::Caller cause, Held sandbox, policy::JobId id) {
  const auto stop = sandbox->ending.get_token();
  auto ending = link_.end(cause, at(*sandbox), std::string(id.hex()), GuestLink::Afterwards::report, stop);
  auto ended = co_await std::move(ending);
  if (ended) settle(*sandbox, id, *ended);
  const bool gone = ended ? ended->status != JobStatus::running : ended.error().code == "job.lost";
  if (gone || sandbox->state != SandboxState::ready) co_return;
  co_await destroy_as_system(sandbox->marker.id, policy::DestroyCause::withdrawn, std::move(cause));
}

// A command goes on after the call that began it. When a new policy would refuse it, it is ended.
template <class A>
policy::Standing Owner::stand(const policy::Grant<A>& grant, const policy::JobId& id) {
  return engine_->stand(
      grant, [this, cause = grant.cause(), in = grant.action().sandbox, id](const policy::Denial&) {
        const auto sandbox = registry_.find(in);
        if (!sandbox || sandbox->state != SandboxState::ready) return;
        asio::co_spawn(executor_, withdraw(cause, sandbox, id), asio::detached);
      });
}

asio::awaitable<Result<JobView>> Owner::run(policy::Grant<policy::Run> grant, milliseconds max_wait,
                                            Progress progress, std::stop_token stop) {
  const auto id = policy::JobId::random();
  auto standing = stand(grant, id);
  auto view = co_await run_inside(grant.cause(), grant.action(), id, std::move(standing), max_wait,
                                  std::move(progress), std::move(stop));
  auto outcome = outcome_of(view);
  co_return finished(std::move(grant), std::move(view), std::move(outcome));
}

asio::awaitable<Result<JobView>> Owner::run_inside(policy::Caller cause, policy::Run what, policy::JobId id,
                                                   policy::Standing standing, milliseconds max_wait,
                                                   Progress progress, std::stop_token stop) {
  auto entered = enter(what.sandbox);
  if (!entered) co_return tl::unexpected(entered.error());
  const auto sandbox = *entered;
  new_job(*sandbox, id, JobKind::foreground).standing = std::move(standing);

  GuestRequest request;
  request.command = std::move(what.command);
  request.timeout = what.timeout;
  request.wait = max_wait;
  if (what.timeout.count() > 0) request.wait = std::min<milliseconds>(max_wait, what.timeout + kKillTime);
  request.wait = std::max(request.wait, milliseconds(1));
  request.forget = std::exchange(sandbox->forget, {});
  const int steps = static_cast<int>(request.wait / kProgressPeriod) + 1;
  const EitherStop either(stop, sandbox->ending.get_token());
  const Ticker telling(executor_, kProgressPeriod, [&](int count) {
    if (progress) progress(std::min(count, steps), steps + 1, "the command is running");
  });
  auto report =
      co_await link_.begin(cause, at(*sandbox), std::string(id.hex()), std::move(request), either.token());
  if (report) {
    settle(*sandbox, id, *report);
    if (report->status == JobStatus::running) sandbox->jobs.at(id).kind = JobKind::background;
    co_return view(*sandbox, id, std::move(*report));
  }
  auto error = told(*sandbox, report.error());
  if (error.code == "vmrun.timeout") {
    // It may have begun; it is found again by its id.
    if (const auto job = sandbox->jobs.find(id); job != sandbox->jobs.end()) {
      job->second.kind = JobKind::background;
    }
    error.message += "; look for it with `check` and the id `" + id.text() + "`";
    co_return tl::unexpected(error);
  }
  sandbox->jobs.erase(id);
  const bool may_run = error.code == "cancelled" || error.code == "guest.report" || error.code == "file.io";
  if (may_run) co_await kill_quietly(std::move(cause), sandbox, std::string(id.hex()));
  co_return tl::unexpected(error);
}

asio::awaitable<Result<JobView>> Owner::start(policy::Grant<policy::Start> grant, std::stop_token stop) {
  auto* const place = grant.proof<policy::Reservation>();
  const auto id = policy::JobId::random();
  auto standing = stand(grant, id);
  auto view =
      co_await start_inside(grant.cause(), grant.action(), id, std::move(standing), place, std::move(stop));
  auto outcome = outcome_of(view);
  co_return finished(std::move(grant), std::move(view), std::move(outcome));
}

asio::awaitable<Result<JobView>> Owner::start_inside(policy::Caller cause, policy::Start what,
                                                     policy::JobId id, policy::Standing standing,
                                                     policy::Reservation* place, std::stop_token stop) {
  auto entered = enter(what.sandbox);
  if (!entered) co_return tl::unexpected(entered.error());
  const auto sandbox = *entered;
  new_job(*sandbox, id, JobKind::background).standing = std::move(standing);
  if (place != nullptr) place->counted_elsewhere();

  GuestRequest request;
  request.command = std::move(what.command);
  request.forget = std::exchange(sandbox->forget, {});
  const EitherStop either(stop, sandbox->ending.get_token());
  auto report =
      co_await link_.begin(cause, at(*sandbox), std::string(id.hex()), std::move(request), either.token());
  if (report) co_return view(*sandbox, id, std::move(*report));
  auto error = told(*sandbox, report.error());
  sandbox->jobs.erase(id);
  const bool may_run = error.code == "cancelled" || error.code == "vmrun.timeout";
  if (may_run) co_await kill_quietly(std::move(cause), sandbox, std::string(id.hex()));
  co_return tl::unexpected(error);
}

asio::awaitable<Result<JobView>> Owner::check(policy::Grant<policy::Check> grant, std::stop_token stop) {
  auto view =
      co_await look_inside(grant.cause(), grant.action().sandbox, grant.action().job, false, std::move(stop));
  auto outcome = outcome_of(view);
  co_return finished(std::move(grant), std::move(view), std::move(outcome));
}

asio::awaitable<Result<JobView>> Owner::stop(policy::Grant<policy::Stop> grant, std::stop_token stop) {
  auto view =
      co_await look_inside(grant.cause(), grant.action().sandbox, grant.action().job, true, std::move(stop));
  auto outcome = outcome_of(view);
  co_return finished(std::move(grant), std::move(view), std::move(outcome));
}

asio::awaitable<Result<JobView>> Owner::look_inside(policy::Caller cause, policy::SandboxId in,
                                                    policy::JobId id, bool end, std::stop_token stop) {
  auto entered = enter(in);
  if (!entered) co_return tl::unexpected(entered.error());
  const auto sandbox = *entered;
  auto known = sandbox->jobs.find(id);
  if (known == sandbox->jobs.end()) {
    // The former owner of an adopted sandbox may have begun it; the guest knows.
    if (!sandbox->adopted) co_return tl::unexpected(no_such_job(id));
  } else if (known->second.kept) {
    auto kept = kept_report(*sandbox, id);
    if (!kept) co_return tl::unexpected(kept.error());
    co_return view(*sandbox, id, std::move(*kept));
  }
  const EitherStop either(stop, sandbox->ending.get_token());
  std::string token(id.hex());
  Result<GuestReport> report;
  if (end) {
    report = co_await link_.end(cause, at(*sandbox), token, GuestLink::Afterwards::report, either.token());
  } else {
    report = co_await link_.report(cause, at(*sandbox), token, either.token());
  }
  known = sandbox->jobs.find(id);
  if (!report && report.error().code == "job.lost") {
    if (known == sandbox->jobs.end()) co_return tl::unexpected(no_such_job(id));
    GuestReport lost;
    lost.status = JobStatus::lost;
    report = lost;
  }
  if (!report) co_return tl::unexpected(told(*sandbox, report.error()));
  if (known == sandbox->jobs.end()) new_job(*sandbox, id, JobKind::background);
  settle(*sandbox, id, *report);
  co_return view(*sandbox, id, std::move(*report));
}

asio::awaitable<void> Owner::recount(policy::Caller cause, policy::SandboxId id) {
  auto entered = enter(id);
  if (!entered) co_return;
  const auto sandbox = *entered;
  const auto before = sandbox->jobs_ever;
  auto running = co_await link_.census(std::move(cause), at(*sandbox), sandbox->ending.get_token());
  if (!running) co_return;
  for (auto& [job, state] : sandbox->jobs) {
    const bool asked = state.number < before && state.kind == JobKind::background;
    if (!asked || state.status != JobStatus::running) continue;
    const auto still = std::find(running->begin(), running->end(), job.hex()) != running->end();
    // How it ended is asked when somebody wants to know.
    if (still) continue;
    state.kind = JobKind::foreground;
    state.standing = {};
  }
}

}  // namespace vmware
