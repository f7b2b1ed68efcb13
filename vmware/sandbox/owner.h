#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "policy/clock.h"
#include "policy/reservation.h"
#include "vmware/driver.h"
#include "vmware/host_files.h"
#include "vmware/link/guest_link.h"
#include "vmware/machines.h"
#include "vmware/sandbox/registry.h"
#include "vmware/settings.h"

namespace vmware {

// The list of running machines lags: what it does not have twice in a row, so far apart, is off.
inline constexpr std::chrono::milliseconds kBetweenLists{300};

// The machines of one owner process: create.cc, destroy.cc, jobs.cc, copies.cc, sweep.cc.
class Owner final : public Machines {
 public:
  Owner(boost::asio::any_io_executor, MachineSettings, const policy::Clock&, std::unique_ptr<Processes>);
  ~Owner() override;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void attach(policy::Engine&) override;
  boost::asio::awaitable<Result<SandboxInfo>> create(policy::Grant<policy::Create>, Progress,
                                                     std::stop_token) override;
  boost::asio::awaitable<Result<JobView>> run(policy::Grant<policy::Run>, std::chrono::milliseconds max_wait,
                                              Progress, std::stop_token) override;
  boost::asio::awaitable<Result<JobView>> start(policy::Grant<policy::Start>, std::stop_token) override;
  boost::asio::awaitable<Result<JobView>> check(policy::Grant<policy::Check>, std::stop_token) override;
  boost::asio::awaitable<Result<JobView>> stop(policy::Grant<policy::Stop>, std::stop_token) override;
  boost::asio::awaitable<Result<void>> put(policy::Grant<policy::CopyIn>, StagedFile tar, CopyShape,
                                           std::stop_token) override;
  boost::asio::awaitable<Result<StagedFile>> fetch(policy::Grant<policy::FetchOut>, std::string destination,
                                                   std::uint64_t max_bytes, std::stop_token) override;
  boost::asio::awaitable<Result<std::string>> screenshot(policy::Grant<policy::Screenshot>,
                                                         std::stop_token) override;
  boost::asio::awaitable<Result<void>> destroy(policy::Grant<policy::Destroy>) override;
  Result<SandboxInfo> extend(policy::Grant<policy::Extend>) override;
  Result<std::vector<SandboxInfo>> list(policy::Grant<policy::List>) override;
  boost::asio::awaitable<void> recount(policy::Caller cause, policy::SandboxId) override;
  boost::asio::awaitable<void> taken_over(std::stop_token) override;
  boost::asio::awaitable<void> sweep() override;
  std::vector<SandboxInfo> all() const override;

  std::optional<policy::SandboxFacts> find(const policy::SandboxId&) const override;
  Result<void> add(const policy::SandboxId&, const policy::Labels&) override;
  std::size_t count(const policy::PrincipalId*) const override;
  std::size_t running_jobs(const policy::SandboxId&) const override;

 private:
  using Held = std::shared_ptr<Sandbox>;
  template <class T>
  using Task = boost::asio::awaitable<T>;

  // Folders, and the lock that tells other owners that this one lives. Does nothing the second time.
  Result<void> prepare();
  std::string vmx_path(const policy::SandboxId&) const;
  std::string owner_lock_path(const std::string& instance) const;
  std::chrono::seconds lifetime() const;
  // A sandbox that can be worked in; else why not.
  Result<Held> enter(const policy::SandboxId&) const;
  // What a failed call in a sandbox is told: why it ended when it was the sandbox that ended. A guest that is
  // off makes its sandbox `lost`.
  policy::Error told(Sandbox&, policy::Error) const;
  GuestAt at(const Sandbox&) const;
  policy::Caller system_caller() const;
  // Asks, as `system`, and destroys.
  Task<void> destroy_as_system(policy::SandboxId, policy::DestroyCause, std::optional<policy::Caller> cause);

  // create.cc
  // `place` (null: none) is the grant's, which outlives the call: given back once the registry counts.
  Task<Result<SandboxInfo>> make(policy::Caller cause, policy::Create what, policy::Labels labels,
                                 policy::Reservation* place, Progress, std::stop_token);
  Task<Result<void>> bring_up(policy::Caller cause, Held, policy::Create what, Progress, std::stop_token);
  Task<Result<void>> clone(policy::Caller cause, Held, std::stop_token);
  Task<Result<void>> base_is_usable(policy::Caller cause, Base base, std::stop_token);
  Result<void> check_clone(const Sandbox&) const;
  Task<Result<void>> power_on(policy::Caller cause, Held, std::stop_token);
  Task<Result<void>> until_ready(policy::Caller cause, Held, std::stop_token);
  Task<Result<void>> grow_file_system(policy::Caller cause, Held, std::stop_token);

  // destroy.cc
  Task<Result<void>> take_down(policy::Caller cause, policy::SandboxId, policy::DestroyCause);
  Task<Result<void>> power_off(policy::Caller cause, Held);
  Task<Result<bool>> runs(policy::Caller cause, std::string vmx, Driver::Freshness);
  Task<Result<void>> erase(policy::Caller cause, Held);

  // jobs.cc
  Task<Result<JobView>> run_inside(policy::Caller cause, policy::Run what, policy::JobId, policy::Standing,
                                   std::chrono::milliseconds max_wait, Progress, std::stop_token);
  Task<Result<JobView>> start_inside(policy::Caller cause, policy::Start what, policy::JobId,
                                     policy::Standing, policy::Reservation* place, std::stop_token);
  Task<void> withdraw(policy::Caller cause, Held, policy::JobId);
  template <class A>
  policy::Standing stand(const policy::Grant<A>&, const policy::JobId&);
  Task<Result<JobView>> look_inside(policy::Caller cause, policy::SandboxId, policy::JobId, bool end,
                                    std::stop_token);
  Task<void> kill_quietly(policy::Caller cause, Held, std::string token);
  Job& new_job(Sandbox&, const policy::JobId&, JobKind) const;
  void settle(Sandbox&, const policy::JobId&, const GuestReport&);
  // Reports of ended jobs, a folder for each sandbox.
  std::string kept_jobs() const;
  std::string kept_path(const Sandbox&, const policy::JobId&) const;
  Result<GuestReport> kept_report(const Sandbox&, const policy::JobId&) const;
  JobView view(const Sandbox&, const policy::JobId&, GuestReport) const;

  // copies.cc
  Task<Result<void>> put_inside(policy::Caller cause, policy::CopyIn what, StagedFile tar, CopyShape,
                                std::stop_token);
  Task<Result<StagedFile>> fetch_inside(policy::Caller cause, policy::FetchOut what, std::string destination,
                                        std::uint64_t max_bytes, std::stop_token);
  Task<Result<std::string>> capture(policy::Caller cause, policy::SandboxId, std::stop_token);

  // sweep.cc
  // Known to the registry and nobody's; the lock keeps other heirs away until it is destroyed.
  struct Orphan {
    policy::SandboxId id;
    std::unique_ptr<FileLock> lock;
  };
  enum class Heir { adopted, nobody, unknown };
  Task<void> sweep_disk();
  Task<void> sweep_folder(policy::SandboxId, std::vector<Orphan>&);
  Task<Heir> adopt(SandboxMarker, std::int64_t silent);
  Task<std::optional<bool>> certainly_runs(std::string vmx);

  boost::asio::any_io_executor executor_;
  const MachineSettings settings_;
  const policy::Clock& clock_;
  const std::unique_ptr<Processes> processes_;
  const std::string instance_ = policy::random_hex32();
  const std::string boot_;
  policy::Engine* engine_ = nullptr;
  Driver driver_;
  GuestLink link_;
  Registry registry_;
  std::unique_ptr<FileLock> alive_;
  bool sweeping_ = false;
  bool taken_over_ = false;
};

// Closes a grant with what became of it. A log that cannot take the outcome fails the call.
template <class A, class T>
Result<T> finished(policy::Grant<A> grant, Result<T> result, policy::Outcome outcome) {
  outcome.ok = result.has_value();
  if (!result) outcome.code = result.error().code;
  if (result && outcome.code.empty()) outcome.code = "ok";
  const auto closed = grant.close(outcome);
  if (result && !closed) return tl::unexpected(closed.error());
  return result;
}

}  // namespace vmware
