#include "vmware/sandbox/owner.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <variant>

#include "vmware/sandboxes.h"
#include "vmware/settled.h"

namespace vmware {
namespace asio = boost::asio;

Owner::Owner(asio::any_io_executor executor, MachineSettings settings, const policy::Clock& clock,
             std::unique_ptr<Processes> processes)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      clock_(clock),
      processes_(std::move(processes)),
      boot_(boot_id().empty() ? "unknown" : boot_id()),
      driver_(settings_, *processes_),
      link_(settings_, driver_) {}

Owner::~Owner() = default;

void Owner::attach(policy::Engine& engine) {
  engine_ = &engine;
  driver_.attach(engine);
}

Result<void> Owner::prepare() {
  if (alive_) return {};
  if (auto ok = check_settings(settings_); !ok) return ok;
  for (const auto& folder : {settings_.state, settings_.clones, settings_.state + "/staging", kept_jobs()}) {
    if (auto made = make_folder(folder, MakeFolder::kept); !made) return made;
  }
  auto lock = try_lock(owner_lock_path(instance_));
  if (!lock) return tl::unexpected(lock.error());
  if (!*lock) return policy::fail("owner.locked", "another process holds this process's own lock");
  alive_ = std::move(*lock);
  return {};
}

std::string Owner::vmx_path(const policy::SandboxId& id) const {
  return settings_.clones + "/" + id.text() + "/" + id.text() + ".vmx";
}

std::string Owner::owner_lock_path(const std::string& instance) const {
  return settings_.clones + "/.owner-" + instance + ".lock";
}

std::chrono::seconds Owner::lifetime() const {
  auto life = settings_.max_age;
  if (engine_ == nullptr) return life;
  for (const auto& limit : engine_->limits()) {
    if (limit.meter == policy::Meter::sandbox_age) life = std::min(life, std::chrono::seconds(limit.max));
  }
  return life;
}

Result<Owner::Held> Owner::enter(const policy::SandboxId& id) const {
  if (const auto* gone = registry_.find_gone(id)) return tl::unexpected(gone->why);
  auto sandbox = registry_.find(id);
  if (!sandbox) return policy::fail("sandbox.unknown", "there is no sandbox `" + id.text() + "`");
  switch (sandbox->state) {
    case SandboxState::creating:
      return policy::fail("sandbox.not_ready", "the sandbox is still being created");
    case SandboxState::destroying:
      return tl::unexpected(sandbox->farewell);
    case SandboxState::lost:
    case SandboxState::ready:
      break;
  }
  if (clock_.since_boot() >= sandbox->dies) {
    return policy::fail("sandbox.expired", "the sandbox has reached its age limit; create another");
  }
  return sandbox;
}

policy::Error Owner::told(Sandbox& sandbox, policy::Error error) const {
  if (sandbox.ending.stop_requested()) return sandbox.farewell;
  const bool off = error.code == "guest.gone" || error.code == "vm.missing";
  if (off && sandbox.state == SandboxState::ready) sandbox.state = SandboxState::lost;
  return error;
}

GuestAt Owner::at(const Sandbox& sandbox) const {
  return GuestAt{sandbox.marker.id, sandbox.vmx, sandbox.base.login};
}

policy::Caller Owner::system_caller() const {
  return policy::Caller{policy::system_subject(), policy::Correlation{policy::CallId::random(), {}, {}}};
}

asio::awaitable<void> Owner::destroy_as_system(policy::SandboxId id, policy::DestroyCause why,
                                               std::optional<policy::Caller> cause) {
  auto caller = system_caller();
  if (cause) caller.id = cause->id;
  auto pending = engine_->decide(caller, policy::Destroy{id, why});
  auto verdict = co_await settled(std::move(pending));
  if (auto* grant = std::get_if<policy::Grant<policy::Destroy>>(&verdict)) {
    co_await destroy(std::move(*grant));
  }
}

Result<SandboxInfo> Owner::extend(policy::Grant<policy::Extend> grant) {
  const auto what = grant.action();
  const auto lengthen = [&]() -> Result<SandboxInfo> {
    auto entered = enter(what.sandbox);
    if (!entered) return tl::unexpected(entered.error());
    Sandbox& sandbox = **entered;
    if (what.by.count() <= 0) return policy::fail("extend.nothing", "`by` must be a positive time");
    std::optional<std::chrono::seconds> most;
    for (const auto& limit : engine_->limits()) {
      if (limit.meter != policy::Meter::sandbox_age) continue;
      most = std::min(most.value_or(std::chrono::seconds::max()), std::chrono::seconds(limit.max));
    }
    auto dies = sandbox.dies + what.by;
    if (most && dies > sandbox.born + *most) dies = sandbox.born + *most;
    if (dies <= sandbox.dies) {
      return policy::fail("limit.sandbox_age", "the sandbox already has the longest life that policy allows");
    }
    const auto before = sandbox.dies;
    sandbox.dies = dies;
    sandbox.marker.expires = sandbox.expires().time_since_epoch().count();
    if (auto written = update_marker(settings_.clones, sandbox.marker); !written) {
      sandbox.dies = before;
      return tl::unexpected(written.error());
    }
    return sandbox.info();
  };
  auto result = lengthen();
  return finished(std::move(grant), std::move(result), {});
}

Result<std::vector<SandboxInfo>> Owner::list(policy::Grant<policy::List> grant) {
  std::vector<SandboxInfo> own;
  for (const auto& sandbox : registry_.all()) {
    if (sandbox->marker.owner == grant.who().principal) own.push_back(sandbox->info());
  }
  return finished(std::move(grant), Result<std::vector<SandboxInfo>>(std::move(own)), {});
}

std::vector<SandboxInfo> Owner::all() const {
  std::vector<SandboxInfo> result;
  for (const auto& sandbox : registry_.all()) result.push_back(sandbox->info());
  return result;
}

std::optional<policy::SandboxFacts> Owner::find(const policy::SandboxId& id) const {
  return registry_.facts(id, clock_.since_boot());
}

Result<void> Owner::add(const policy::SandboxId& id, const policy::Labels& labels) {
  const auto sandbox = registry_.find(id);
  if (!sandbox) {
    // Of one that is gone nothing can happen any more that its labels could forbid.
    if (registry_.find_gone(id) != nullptr) return {};
    return policy::fail("sandbox.unknown", "there is no sandbox `" + id.text() + "`");
  }
  auto marker = sandbox->marker;
  if (!policy::add_labels(marker.labels, labels)) return {};
  if (auto written = update_marker(settings_.clones, marker); !written) return written;
  sandbox->marker = std::move(marker);
  return {};
}

std::size_t Owner::count(const policy::PrincipalId* owner) const { return registry_.count(owner); }

std::size_t Owner::running_jobs(const policy::SandboxId& id) const {
  const auto sandbox = registry_.find(id);
  if (!sandbox) return 0;
  return static_cast<std::size_t>(
      std::count_if(sandbox->jobs.begin(), sandbox->jobs.end(), [](const auto& entry) {
        return entry.second.kind == JobKind::background && entry.second.status == JobStatus::running;
      }));
}

std::unique_ptr<Machines> open_machines(asio::any_io_executor executor, MachineSettings settings,
                                        const policy::Clock& clock) {
  return open_machines(std::move(executor), std::move(settings), clock, system_processes());
}

std::unique_ptr<Machines> open_machines(asio::any_io_executor executor, MachineSettings settings,
                                        const policy::Clock& clock, std::unique_ptr<Processes> processes) {
  return std::make_unique<Owner>(std::move(executor), std::move(settings), clock, std::move(processes));
}

}  // namespace vmware
