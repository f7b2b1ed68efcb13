#include <algorithm>
#include <array>
#include <utility>

#include "vmware/base/base_machine.h"
#include "vmware/pause.h"
#include "vmware/sandbox/owner.h"
#include "vmware/vmx_rebuild.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr int kSteps = 6;
constexpr seconds kBaseLockPatience{120};
constexpr int kCloneTries = 3;
constexpr std::size_t kMaxCloneFiles = 200;
constexpr seconds kLoginPatience{15};  // a guest refuses good logins while it starts
constexpr seconds kEagerTime{30};
constexpr milliseconds kEagerPoll{250};
constexpr seconds kMaybePeriod{5};
constexpr milliseconds kLazyPoll{2000};
constexpr seconds kGrowTime{40};
// ext4 grows while it is in use: by resize2fs, or where that is not installed by the kernel's own request for
// it (EXT4_IOC_RESIZE_FS).
constexpr std::string_view kGrowFileSystem = R"sh(
disk=$(findmnt -no SOURCE /) || exit
if command -v resize2fs > /dev/null; then exec sudo -n resize2fs "$disk"; fi
exec sudo -n python3 - "$disk" << 'END'
import fcntl, os, struct, sys
size = os.lseek(os.open(sys.argv[1], os.O_RDONLY), 0, os.SEEK_END)
root = os.open("/", os.O_RDONLY)
fcntl.ioctl(root, 0x40086610, struct.pack("Q", size // os.fstatvfs(root).f_bsize))
END
)sh";
constexpr seconds kLookPeriod{2};  // a machine of which nothing is known may be off

}  // namespace

asio::awaitable<Result<SandboxInfo>> Owner::create(policy::Grant<policy::Create> grant, Progress progress,
                                                   std::stop_token stop) {
  const auto began = clock_.since_boot();
  auto* const place = grant.proof<policy::Reservation>();
  auto made = co_await make(grant.cause(), grant.action(), grant.labels(), place, std::move(progress),
                            std::move(stop));
  policy::Outcome outcome;
  outcome.duration_us =
      std::chrono::duration_cast<std::chrono::microseconds>(clock_.since_boot() - began).count();
  if (made) outcome.details["sandbox"] = policy::Json(made->id.text());
  co_return finished(std::move(grant), std::move(made), std::move(outcome));
}

asio::awaitable<Result<SandboxInfo>> Owner::make(policy::Caller cause, policy::Create what,
                                                 policy::Labels labels, policy::Reservation* place,
                                                 Progress progress, std::stop_token stop) {
  if (what.network == policy::Network::web) {
    co_return policy::fail("network.web", "network `web` is not set up; use `none`");
  }
  if (auto ready = prepare(); !ready) co_return tl::unexpected(ready.error());
  auto base = base_named(settings_, what.image);
  if (!base) co_return tl::unexpected(base.error());
  const auto life = lifetime();
  const auto now = std::chrono::floor<seconds>(clock_.wall()).time_since_epoch().count();
  SandboxMarker marker{policy::SandboxId::random(),
                       cause.who.principal,
                       instance_,
                       what.network,
                       SandboxMarker::State::creating,
                       now,
                       now + life.count(),
                       boot_,
                       SALLYPORT_VERSION,
                       what.image,
                       std::move(labels)};
  if (auto made = make_marked_folder(settings_.clones, marker); !made) {
    co_return tl::unexpected(made.error());
  }
  const auto id = marker.id;
  const auto sandbox = registry_.add(std::move(marker), vmx_path(id), std::move(*base));
  if (place != nullptr) place->counted_elsewhere();
  sandbox->born = clock_.since_boot();
  sandbox->dies = sandbox->born + life;

  const EitherStop either(stop, sandbox->ending.get_token());
  auto up = co_await bring_up(cause, sandbox, std::move(what), std::move(progress), either.token());
  if (up && either.token().stop_requested()) {
    up = policy::fail("cancelled", "cancelled while the sandbox was being created");
  }
  if (!up) {
    co_await destroy_as_system(id, policy::DestroyCause::rolled_back, cause);
    co_return tl::unexpected(up.error());
  }
  sandbox->state = SandboxState::ready;
  sandbox->marker.state = SandboxMarker::State::ready;
  if (auto written = update_marker(settings_.clones, sandbox->marker); !written) {
    co_await destroy_as_system(id, policy::DestroyCause::rolled_back, cause);
    co_return tl::unexpected(written.error());
  }
  co_return sandbox->info();
}

asio::awaitable<Result<void>> Owner::bring_up(policy::Caller cause, Held sandbox, policy::Create what,
                                              Progress progress, std::stop_token stop) {
  const auto say = [&](int done, const char* words) {
    if (progress) progress(done, kSteps, words);
  };
  say(0, "cloning the base machine");
  auto cloned = co_await clone(cause, sandbox, stop);
  if (!cloned) co_return cloned;
  say(1, "writing the machine's settings");
  if (auto sound = check_clone(*sandbox); !sound) co_return sound;
  auto rewritten = rewrite_vmx(sandbox->vmx, sandbox->marker.id, what);
  if (!rewritten) co_return tl::unexpected(rewritten.error());
  const std::array below{folder_of(sandbox->base.vmx)};
  if (auto sound = check_disks(*rewritten, folder_of(sandbox->vmx), below); !sound) co_return sound;
  say(2, "starting the machine");
  auto started = co_await power_on(cause, sandbox, stop);
  if (!started) co_return started;
  say(3, "waiting for the guest");
  const Ticker waiting(executor_, seconds(3),
                       [&](int count) { say(std::min(3 + count / 2, kSteps - 1), "waiting for the guest"); });
  auto ready = co_await until_ready(cause, sandbox, stop);
  if (ready && what.disk_gb != 0) {
    say(kSteps - 1, "growing the disk");
    ready = co_await grow_file_system(cause, sandbox, stop);
  }
  if (ready) say(kSteps, "ready");
  co_return ready;
}

// The disk is as large as asked when the machine starts; the guest's file system is not yet.
asio::awaitable<Result<void>> Owner::grow_file_system(policy::Caller cause, Held sandbox,
                                                      std::stop_token stop) {
  GuestRequest request;
  request.command = std::string(kGrowFileSystem);
  request.wait = kGrowTime;
  request.timeout = kGrowTime;
  auto grown = co_await link_.begin(std::move(cause), at(*sandbox), policy::random_hex32(),
                                    std::move(request), std::move(stop));
  if (!grown) co_return tl::unexpected(grown.error());
  if (grown->status != JobStatus::exited || grown->exit_code != 0) {
    co_return policy::fail(
        "create.disk",
        "the guest could not grow its file system to `disk_gb`; leave `disk_gb` out, or use "
        "an image whose root is ext4 on the whole disk");
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> Owner::base_is_usable(policy::Caller cause, Base base, std::stop_token stop) {
  auto running = co_await driver_.running(cause, Driver::Freshness::shared, stop);
  if (!running) co_return tl::unexpected(running.error());
  for (const auto& path : *running) {
    if (names_file(path, base.vmx)) {
      co_return policy::fail("base.running", "the base machine is running; switch it off and try again");
    }
  }
  if (auto sound = check_base(base.vmx, base.snapshot); !sound) co_return sound;
  auto reply = co_await driver_.call(std::move(cause), list_snapshots_command(base.vmx), stop);
  if (!reply && reply.error().code == "vm.missing") {
    co_return policy::fail("base.missing", "there is no base machine at the path in the settings");
  }
  if (!reply) co_return tl::unexpected(reply.error());
  const auto names = parse_snapshots(reply->out);
  if (!names) co_return tl::unexpected(names.error());
  // The files say so already; vmrun goes by its own reading of them.
  if (std::count(names->begin(), names->end(), base.snapshot) != 1) {
    co_return policy::fail("snapshot.missing", "vmrun does not know one snapshot `" + base.snapshot +
                                                   "` of the base machine; take it again");
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> Owner::clone(policy::Caller cause, Held sandbox, std::stop_token stop) {
  // One clone of a base at a time, over all processes: a clone writes to the base's records.
  std::unique_ptr<FileLock> mine;
  const auto give_up = steady_clock::now() + kBaseLockPatience;
  while (!mine) {
    auto lock = try_lock_existing(sandbox->base.vmx);
    if (!lock) co_return policy::fail("base.missing", "the base machine in the settings cannot be opened");
    mine = std::move(*lock);
    if (mine) break;
    if (stop.stop_requested()) co_return policy::fail("cancelled", "cancelled while it waited for the base");
    if (steady_clock::now() >= give_up) {
      co_return policy::fail("base.busy", "others clone the same base machine and do not end; try again");
    }
    co_await pause(milliseconds(100), stop);
  }
  auto usable = co_await base_is_usable(cause, sandbox->base, stop);
  if (!usable) co_return usable;
  for (int attempt = 1;; ++attempt) {
    auto command = clone_command(sandbox->base.vmx, sandbox->vmx, sandbox->base.snapshot, sandbox->marker.id);
    auto reply = co_await driver_.call(cause, std::move(command), stop);
    if (reply) co_return Result<void>();
    if (reply.error().code != "vm.locked" || attempt == kCloneTries) co_return tl::unexpected(reply.error());
    co_await pause(milliseconds(500) * attempt, stop);
  }
}

Result<void> Owner::check_clone(const Sandbox& sandbox) const {
  const auto entries = list_folder(folder_of(sandbox.vmx), kMaxCloneFiles);
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& entry : *entries) {
    const bool lock = entry.kind == FolderEntry::Kind::folder && entry.name.ends_with(".lck");
    if (!entry.ours || (entry.kind != FolderEntry::Kind::file && !lock)) {
      return policy::fail("clone.odd", "the clone holds something that is not a plain file of ours");
    }
  }
  return {};
}

asio::awaitable<Result<void>> Owner::power_on(policy::Caller cause, Held sandbox, std::stop_token stop) {
  auto reply = co_await driver_.call(cause, start_command(sandbox->vmx, sandbox->marker.id), stop);
  if (reply) co_return Result<void>();
  const auto code = reply.error().code;
  // Killed at its deadline, or without a word: what counts is whether the machine runs.
  if (code == "vmrun.timeout" || code == "vm.running" || code == "vmrun.other") {
    auto running = co_await runs(std::move(cause), sandbox->vmx, Driver::Freshness::fresh);
    if (running && *running) co_return Result<void>();
  }
  co_return tl::unexpected(reply.error());
}

asio::awaitable<Result<void>> Owner::until_ready(policy::Caller cause, Held sandbox, std::stop_token stop) {
  const auto began = steady_clock::now();
  std::optional<steady_clock::time_point> refused;
  auto tried = began;
  auto looked = began;
  int absent = 0;
  std::string last = "its tools never answered";
  while (steady_clock::now() - began < settings_.boot_timeout) {
    auto reply = co_await driver_.call(cause, tools_command(sandbox->vmx, sandbox->marker.id), stop);
    if (stop.stop_requested()) co_return policy::fail("cancelled", "cancelled while the guest was starting");
    Result<ToolsState> state = ToolsState::unknown;
    if (reply) state = parse_tools_state(reply->out);
    if (!reply && reply.error().code == "guest.gone" && steady_clock::now() - began > seconds(5)) {
      co_return policy::fail("guest.gone", "the guest switched itself off while it started");
    }
    if (state && *state != ToolsState::unknown) {
      absent = 0;
    } else if (steady_clock::now() - looked > kLookPeriod) {
      // Two lists in a row, as the list lags behind.
      auto running = co_await runs(cause, sandbox->vmx, Driver::Freshness::fresh);
      looked = steady_clock::now();
      if (running) absent = *running ? 0 : absent + 1;
      if (absent == 2) co_return policy::fail("guest.gone", "the machine went off while it started");
    }
    // `installed` may be all that a guest without a desktop ever says, so it is tried, now and then.
    const bool due = steady_clock::now() - tried > kMaybePeriod;
    if (state && (*state == ToolsState::running || (*state == ToolsState::installed && due))) {
      tried = steady_clock::now();
      auto installed = co_await link_.install(cause, at(*sandbox), stop);
      if (installed) co_return installed;
      last = installed.error().message;
      if (installed.error().code == "guest.login") {
        if (!refused) refused = steady_clock::now();
        if (steady_clock::now() - *refused > kLoginPatience) co_return installed;
      }
    }
    const bool eager = steady_clock::now() - began < kEagerTime;
    co_await pause(eager ? kEagerPoll : kLazyPoll, stop);
  }
  co_return policy::fail(
      "guest.not_ready",
      "the guest was not ready within " + std::to_string(settings_.boot_timeout.count()) + " s: " + last);
}

}  // namespace vmware
