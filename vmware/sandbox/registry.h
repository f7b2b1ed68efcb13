#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "vmware/machines.h"
#include "vmware/sandbox_marker.h"
#include "vmware/settings.h"
#include "vmware/turns.h"

namespace vmware {

enum class JobKind { foreground, background };

struct Job {
  JobKind kind = JobKind::background;  // only background ones count against the limit
  JobStatus status = JobStatus::running;
  bool kept = false;  // ended, and its report is a file on the host
  std::chrono::nanoseconds began{};
  std::size_t number = 0;     // order of arrival
  policy::Standing standing;  // while it runs
};

// A sandbox as one owner process knows it.
struct Sandbox {
  Sandbox(SandboxMarker given, std::string path, Base from)
      : marker(std::move(given)), vmx(std::move(path)), base(std::move(from)) {}

  SandboxMarker marker;
  std::string vmx;
  Base base;
  SandboxState state = SandboxState::creating;
  std::chrono::nanoseconds born{}, dies{};  // since boot
  std::map<policy::JobId, Job> jobs;
  std::size_t jobs_ever = 0;
  std::vector<std::string> forget;  // tokens whose files in the guest may go
  std::stop_source ending;          // stops whatever is under way in it when it is destroyed
  Turns destroying{1};
  policy::Error farewell;  // why it is being destroyed
  bool adopted = false;    // jobs of the former owner may run in it

  TimePoint expires() const;
  SandboxInfo info() const;
};

// A sandbox that is gone, for an honest answer.
struct Gone {
  policy::PrincipalId owner;
  policy::Network network = policy::Network::none;
  policy::Labels labels;
  policy::Error why;
};

// The sandboxes of this process. Lives on the deciding thread.
class Registry final {
 public:
  std::shared_ptr<Sandbox> add(SandboxMarker, std::string vmx, Base);
  std::shared_ptr<Sandbox> find(const policy::SandboxId&) const;
  const Gone* find_gone(const policy::SandboxId&) const;
  void remove(const policy::SandboxId&, std::optional<policy::Error> why);
  std::vector<std::shared_ptr<Sandbox>> all() const;

  std::optional<policy::SandboxFacts> facts(const policy::SandboxId&, std::chrono::nanoseconds now) const;
  std::size_t count(const policy::PrincipalId* owner) const;

 private:
  std::map<policy::SandboxId, std::shared_ptr<Sandbox>> sandboxes_;
  std::map<policy::SandboxId, Gone> gone_;
  std::deque<policy::SandboxId> gone_order_;
};

}  // namespace vmware
