#include "vmware/sandbox/registry.h"

#include <algorithm>
#include <utility>

namespace vmware {
namespace {

constexpr std::size_t kRemembered = 1000;

}  // namespace

TimePoint Sandbox::expires() const {
  const auto life = std::chrono::duration_cast<std::chrono::seconds>(dies - born);
  return TimePoint(std::chrono::seconds(marker.created)) + life;
}

SandboxInfo Sandbox::info() const {
  return SandboxInfo{
      marker.id, marker.owner, marker.network, state, TimePoint(std::chrono::seconds(marker.created)),
      expires()};
}

std::shared_ptr<Sandbox> Registry::add(SandboxMarker marker, std::string vmx, Base base) {
  const auto id = marker.id;
  auto sandbox = std::make_shared<Sandbox>(std::move(marker), std::move(vmx), std::move(base));
  sandboxes_.insert_or_assign(id, sandbox);
  return sandbox;
}

std::shared_ptr<Sandbox> Registry::find(const policy::SandboxId& id) const {
  const auto at = sandboxes_.find(id);
  return at == sandboxes_.end() ? nullptr : at->second;
}

const Gone* Registry::find_gone(const policy::SandboxId& id) const {
  const auto at = gone_.find(id);
  return at == gone_.end() ? nullptr : &at->second;
}

void Registry::remove(const policy::SandboxId& id, std::optional<policy::Error> why) {
  const auto at = sandboxes_.find(id);
  if (at == sandboxes_.end()) return;
  if (why) {
    gone_.insert_or_assign(id, Gone{at->second->marker.owner, at->second->marker.network,
                                    at->second->marker.labels, std::move(*why)});
    gone_order_.push_back(id);
    if (gone_order_.size() > kRemembered) {
      gone_.erase(gone_order_.front());
      gone_order_.pop_front();
    }
  }
  sandboxes_.erase(at);
}

std::vector<std::shared_ptr<Sandbox>> Registry::all() const {
  std::vector<std::shared_ptr<Sandbox>> result;
  for (const auto& [id, sandbox] : sandboxes_) result.push_back(sandbox);
  return result;
}

std::optional<policy::SandboxFacts> Registry::facts(const policy::SandboxId& id,
                                                    std::chrono::nanoseconds now) const {
  if (const auto sandbox = find(id)) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - sandbox->born);
    return policy::SandboxFacts{id, sandbox->marker.owner, sandbox->marker.network, age,
                                sandbox->marker.labels};
  }
  if (const auto* gone = find_gone(id)) {
    return policy::SandboxFacts{id, gone->owner, gone->network, {}, gone->labels};
  }
  return std::nullopt;
}

std::size_t Registry::count(const policy::PrincipalId* owner) const {
  return static_cast<std::size_t>(std::count_if(sandboxes_.begin(), sandboxes_.end(), [&](const auto& entry) {
    return owner == nullptr || entry.second->marker.owner == *owner;
  }));
}

}  // namespace vmware
