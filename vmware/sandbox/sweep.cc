#include <algorithm>
#include <set>
#include <utility>

#include "vmware/sandbox/owner.h"
#include "vmware/stray_commands.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

constexpr std::size_t kMaxEntries = 10'000;
constexpr std::int64_t kHalfMadeAge = 300;  // seconds after which a folder without its final name is nobody's
constexpr std::string_view kHalfMade = ".new-";
constexpr std::string_view kLockHead = ".owner-";
constexpr std::string_view kLockTail = ".lock";

}  // namespace

asio::awaitable<void> Owner::sweep() {
  if (sweeping_ || engine_ == nullptr) co_return;
  if (!prepare()) co_return;
  sweeping_ = true;
  alive_->touch();
  for (const auto& sandbox : registry_.all()) {
    const auto id = sandbox->marker.id;
    if (sandbox->state == SandboxState::destroying) {
      co_await destroy_as_system(id, policy::DestroyCause::asked, std::nullopt);  // one that got stuck
    } else if (sandbox->state != SandboxState::creating && clock_.since_boot() >= sandbox->dies) {
      co_await destroy_as_system(id, policy::DestroyCause::expired, std::nullopt);
    }
  }
  co_await sweep_disk();
  sweeping_ = false;
}

// What former owners left in the clones folder. Folders without our marker are nobody's business.
asio::awaitable<void> Owner::sweep_disk() {
  const auto entries = list_folder(settings_.clones, kMaxEntries);
  if (!entries) co_return;
  for (const auto& entry : *entries) {
    if (entry.kind != FolderEntry::Kind::folder || !entry.ours) continue;
    if (entry.name.starts_with(kHalfMade)) {
      const bool ours = policy::SandboxId::parse(entry.name.substr(kHalfMade.size())).has_value();
      const auto age = file_age(settings_.clones + "/" + entry.name);
      if (ours && age && *age > kHalfMadeAge) (void)remove_tree(settings_.clones, entry.name);
      continue;
    }
    auto id = policy::SandboxId::parse(entry.name);
    if (id && !registry_.find(*id)) co_await sweep_folder(std::move(*id));
  }
  // Locks of dead owners that no marker names any more.
  std::set<std::string> named;
  for (const auto& sandbox : registry_.all()) named.insert(sandbox->marker.instance);
  for (const auto& entry : *entries) {
    auto id = policy::SandboxId::parse(entry.name);
    if (!id) continue;
    if (auto marker = guard(settings_.clones, *id)) named.insert(marker->instance);
  }
  for (const auto& entry : *entries) {
    const std::string_view name(entry.name);
    if (!name.starts_with(kLockHead) || !name.ends_with(kLockTail)) continue;
    const auto instance = name.substr(kLockHead.size(), name.size() - kLockHead.size() - kLockTail.size());
    if (instance.size() != 32 || named.contains(std::string(instance)) || instance == instance_) continue;
    const auto lock = try_lock(settings_.clones + "/" + entry.name);
    if (lock && *lock) (void)remove_file(settings_.clones + "/" + entry.name);
  }
}

asio::awaitable<void> Owner::sweep_folder(policy::SandboxId id) {
  auto marker = guard(settings_.clones, id);
  if (!marker) co_return;
  std::unique_ptr<FileLock> inheritance;  // held, so that two heirs do not take the same sandbox
  std::int64_t silent = 0;
  if (marker->instance != instance_) {
    silent = file_age(owner_lock_path(marker->instance)).value_or(settings_.reattach.count() + 1);
    auto lock = try_lock(owner_lock_path(marker->instance));
    if (!lock || !*lock) co_return;  // its owner lives
    inheritance = std::move(*lock);
    marker = guard(settings_.clones, id);
    if (!marker) co_return;
    (void)end_stray_commands(settings_.vmrun, vmx_path(id));
  }
  auto adopted = co_await adopt(*marker, silent);
  if (adopted) co_return;
  // Nothing is done inside of it any more, so its base does not matter.
  if (!registry_.find(id)) registry_.add(*marker, vmx_path(id), Base());
  const auto sandbox = registry_.find(id);
  sandbox->born = sandbox->dies = clock_.since_boot();
  sandbox->state = SandboxState::destroying;
  co_await destroy_as_system(id, policy::DestroyCause::orphaned, std::nullopt);
}

// A sandbox of a dead owner is taken over when it runs, has time left, and its owner died a short while ago.
asio::awaitable<bool> Owner::adopt(SandboxMarker marker, std::int64_t silent) {
  if (marker.state != SandboxMarker::State::ready || marker.boot != boot_) co_return false;
  if (marker.instance == instance_) co_return false;
  const auto now = std::chrono::floor<seconds>(clock_.wall()).time_since_epoch().count();
  if (now >= marker.expires || now < marker.created) co_return false;
  if (silent > settings_.reattach.count()) co_return false;
  auto base = base_named(settings_, marker.image);
  if (!base) co_return false;
  const auto id = marker.id;
  auto running = co_await runs(system_caller(), vmx_path(id), Driver::Freshness::fresh);
  if (!running || !*running) co_return false;
  marker.instance = instance_;
  if (!update_marker(settings_.clones, marker)) co_return false;
  const auto created = marker.created;
  const auto expires = marker.expires;
  const auto sandbox = registry_.add(std::move(marker), vmx_path(id), std::move(*base));
  sandbox->born = clock_.since_boot() - seconds(now - created);
  sandbox->dies = sandbox->born + seconds(expires - created);
  sandbox->state = SandboxState::ready;
  sandbox->adopted = true;
  co_return true;
}

}  // namespace vmware
