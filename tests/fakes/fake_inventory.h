#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

#include "policy/inventory.h"

namespace fakes {

// The sandboxes a test says there are. Thread-safe.
class FakeInventory final : public policy::Inventory {
 public:
  // A running sandbox of this owner, with no network and age 0 unless the test changes the facts with put().
  policy::SandboxId add(const policy::PrincipalId& owner) {
    const auto id = policy::SandboxId::random();
    put(policy::SandboxFacts{id, owner, policy::Network::none, {}, {}});
    return id;
  }
  void put(policy::SandboxFacts facts) {
    const std::lock_guard lock(mutex_);
    const auto id = facts.id;
    sandboxes_.insert_or_assign(id, std::move(facts));
  }
  void remove(const policy::SandboxId& id) {
    const std::lock_guard lock(mutex_);
    sandboxes_.erase(id);
    jobs_.erase(id);
  }
  void set_running_jobs(const policy::SandboxId& id, std::size_t jobs) {
    const std::lock_guard lock(mutex_);
    jobs_[id] = jobs;
  }

  std::optional<policy::SandboxFacts> find(const policy::SandboxId& id) const override {
    const std::lock_guard lock(mutex_);
    const auto at = sandboxes_.find(id);
    if (at == sandboxes_.end()) return std::nullopt;
    return at->second;
  }
  std::size_t count(const policy::PrincipalId* owner) const override {
    const std::lock_guard lock(mutex_);
    std::size_t found = 0;
    for (const auto& [id, facts] : sandboxes_) found += owner == nullptr || facts.owner == *owner ? 1 : 0;
    return found;
  }
  std::size_t running_jobs(const policy::SandboxId& id) const override {
    const std::lock_guard lock(mutex_);
    const auto at = jobs_.find(id);
    return at == jobs_.end() ? 0 : at->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<policy::SandboxId, policy::SandboxFacts> sandboxes_;
  std::map<policy::SandboxId, std::size_t> jobs_;
};

}  // namespace fakes
