#include <algorithm>
#include <set>
#include <utility>

#include "vmware/pause.h"
#include "vmware/sandbox/owner.h"
#include "vmware/stray_commands.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

constexpr std::size_t kMaxEntries = 10'000;
constexpr std::int64_t kHalfMadeAge = 300;  // seconds after which a folder without its final name is nobody's
constexpr std::chrono::seconds kTakeOver{20};
constexpr std::chrono::milliseconds kTakeOverLook{20};
constexpr std::string_view kHalfMade = ".new-";
constexpr std::string_view kLockHead = ".owner-";
constexpr std::string_view kLockTail = ".lock";

}  // namespace

asio::awaitable<void> Owner::taken_over(std::stop_token stop) {
  if (taken_over_) co_return;
  const auto give_up = std::chrono::steady_clock::now() + kTakeOver;
  if (!sweeping_) co_await sweep();
  while (!taken_over_ && !stop.stop_requested() && std::chrono::steady_clock::now() < give_up)
    co_await pause(kTakeOverLook, stop);
}

asio::awaitable<void> Owner::sweep() {
  if (sweeping_ || engine_ == nullptr) co_return;
  if (!prepare()) {
    taken_over_ = true;  // there is no folder to find any in
    co_return;
  }
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
  if (!entries) {
    taken_over_ = true;  // waiting finds none either
    co_return;
  }
  std::vector<Orphan> orphans;
  for (const auto& entry : *entries) {
    if (entry.kind != FolderEntry::Kind::folder || !entry.ours) continue;
    if (entry.name.starts_with(kHalfMade)) {
      const bool ours = policy::SandboxId::parse(entry.name.substr(kHalfMade.size())).has_value();
      const auto age = file_age(settings_.clones + "/" + entry.name);
      if (ours && age && *age > kHalfMadeAge) (void)remove_tree(settings_.clones, entry.name);
      continue;
    }
    auto id = policy::SandboxId::parse(entry.name);
    if (id && !registry_.find(*id)) co_await sweep_folder(std::move(*id), orphans);
  }
  taken_over_ = true;
  for (const auto& orphan : orphans)
    co_await destroy_as_system(orphan.id, policy::DestroyCause::orphaned, std::nullopt);
  orphans.clear();
  // What was kept of sandboxes that are gone.
  const auto kept = list_folder(kept_jobs(), kMaxEntries);
  for (const auto& entry : kept ? *kept : std::vector<FolderEntry>()) {
    const auto id = policy::SandboxId::parse(entry.name);
    const bool gone = id && !registry_.find(*id) && !file_age(settings_.clones + "/" + entry.name);
    if (gone) (void)remove_tree(kept_jobs(), entry.name);
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

asio::awaitable<void> Owner::sweep_folder(policy::SandboxId id, std::vector<Orphan>& orphans) {
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
  const auto heir = co_await adopt(*marker, silent);
  if (heir != Heir::nobody) co_return;
  // Nothing is done inside of it any more, so its base does not matter.
  if (!registry_.find(id)) registry_.add(*marker, vmx_path(id), Base());
  const auto sandbox = registry_.find(id);
  sandbox->born = sandbox->dies = clock_.since_boot();
  sandbox->state = SandboxState::destroying;
  orphans.push_back({std::move(id), std::move(inheritance)});
}

// Off is what two lists in a row say. Nothing: no list could be had.
asio::awaitable<std::optional<bool>> Owner::certainly_runs(std::string vmx) {
  for (int absent = 0;;) {
    auto running = co_await runs(system_caller(), vmx, Driver::Freshness::fresh);
    if (!running) co_return std::nullopt;
    if (*running) co_return true;
    if (++absent == 2) co_return false;
    co_await pause(kBetweenLists, std::stop_token());
  }
}

// A sandbox of a dead owner is taken over when it runs, has time left, and its owner died a short while ago.
asio::awaitable<Owner::Heir> Owner::adopt(SandboxMarker marker, std::int64_t silent) {
  if (marker.state != SandboxMarker::State::ready || marker.boot != boot_) co_return Heir::nobody;
  if (marker.instance == instance_) co_return Heir::nobody;
  const auto now = std::chrono::floor<seconds>(clock_.wall()).time_since_epoch().count();
  if (now >= marker.expires || now < marker.created) co_return Heir::nobody;
  if (silent > settings_.reattach.count()) co_return Heir::nobody;
  auto base = base_named(settings_, marker.image);
  if (!base) co_return Heir::nobody;
  const auto id = marker.id;
  const auto running = co_await certainly_runs(vmx_path(id));
  if (!running) co_return Heir::unknown;
  if (!*running) co_return Heir::nobody;
  marker.instance = instance_;
  if (!update_marker(settings_.clones, marker)) co_return Heir::unknown;
  const auto created = marker.created;
  const auto expires = marker.expires;
  const auto sandbox = registry_.add(std::move(marker), vmx_path(id), std::move(*base));
  sandbox->born = clock_.since_boot() - seconds(now - created);
  sandbox->dies = sandbox->born + seconds(expires - created);
  sandbox->state = SandboxState::ready;
  sandbox->adopted = true;
  co_return Heir::adopted;
}

}  // namespace vmware
