#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "policy/engine.h"
#include "policy/grant.h"
#include "policy/inventory.h"

namespace vmware {

using policy::Result;
using TimePoint = std::chrono::sys_seconds;

enum class SandboxState { creating, ready, destroying, lost };

struct SandboxInfo {
  policy::SandboxId id;
  policy::PrincipalId owner;
  policy::Network network = policy::Network::none;
  SandboxState state = SandboxState::creating;
  TimePoint created{};
  TimePoint expires{};
};

// One stream of a command, the newest bytes of it. Guest bytes: any value, hostile.
struct StreamView {
  std::string bytes;
  std::uint64_t offset = 0;  // of the first byte of `bytes` in the whole stream
  std::uint64_t total = 0;   // bytes the command has written so far
  bool truncated = false;    // older bytes than kept (1 MB a stream) are gone
};

enum class JobStatus { running, exited, stopped, timed_out, lost };

struct JobView {
  policy::JobId job;
  JobStatus status = JobStatus::running;
  std::optional<int> exit_code;  // only when exited; 128 + signal for a death by signal
  StreamView out, err;
  std::chrono::milliseconds duration{};
  TimePoint expires{};  // of the sandbox
};

// A file in a private folder of ours, one link, 0600; bytes of a copy on their way.
struct StagedFile {
  std::string path;
  std::uint64_t size = 0;
};

// `done` of `total` steps, with a few words for the person who waits. Called on the deciding thread.
using Progress = std::function<void(int done, int total, const std::string& what)>;

enum class CopyShape { file, folder };

// The disposable machines: every effect on a VM. Each function takes the grant of what it does, uses only
// what the grant carries, and closes it with the outcome before it returns. All run on the deciding thread
// and never block it. A stop request ends the work as soon as it can (within 2 s), kills what runs in the
// guest, and gives `cancelled`.
//
// As inventory it also knows sandboxes that are gone, for a while: calls about them are let through to their
// owner, who gets `sandbox.expired` or `sandbox.destroyed` instead of an unknown id. They count nowhere.
class Machines : public policy::Inventory, public policy::LabelKeeper {
 public:
  // The engine that decides the vmrun commands; before anything else, once. It outlives the machines.
  virtual void attach(policy::Engine&) = 0;

  // Clones, starts and waits until a command runs in it. Rolls back whatever it did when it fails or is
  // stopped.
  virtual boost::asio::awaitable<Result<SandboxInfo>> create(policy::Grant<policy::Create>, Progress,
                                                             std::stop_token) = 0;
  // Runs to the end or to `max_wait`, whichever is first; after max_wait the command goes on as a job.
  virtual boost::asio::awaitable<Result<JobView>> run(policy::Grant<policy::Run>,
                                                      std::chrono::milliseconds max_wait, Progress,
                                                      std::stop_token) = 0;
  virtual boost::asio::awaitable<Result<JobView>> start(policy::Grant<policy::Start>, std::stop_token) = 0;
  virtual boost::asio::awaitable<Result<JobView>> check(policy::Grant<policy::Check>, std::stop_token) = 0;
  virtual boost::asio::awaitable<Result<JobView>> stop(policy::Grant<policy::Stop>, std::stop_token) = 0;
  // Unpacks a tar that we wrote into the guest: a file's tar has one entry, which becomes guest_path itself;
  // a folder's entries are placed inside guest_path, which is made when it is missing.
  virtual boost::asio::awaitable<Result<void>> put(policy::Grant<policy::CopyIn>, StagedFile tar, CopyShape,
                                                   std::stop_token) = 0;
  // Packs guest_path in the guest and brings the tar to `destination` (an absolute path in a private folder,
  // not existing yet). The tar is hostile; it is cut and refused when it grows beyond `max_bytes`. The tar's
  // names are relative: a file's has one entry, a folder's entries stand below `.`.
  virtual boost::asio::awaitable<Result<StagedFile>> fetch(policy::Grant<policy::FetchOut>,
                                                           std::string destination, std::uint64_t max_bytes,
                                                           std::stop_token) = 0;
  // A PNG, bounded and with its signature checked, of what the sandbox shows.
  virtual boost::asio::awaitable<Result<std::string>> screenshot(policy::Grant<policy::Screenshot>,
                                                                 std::stop_token) = 0;
  virtual boost::asio::awaitable<Result<void>> destroy(policy::Grant<policy::Destroy>) = 0;
  virtual Result<SandboxInfo> extend(policy::Grant<policy::Extend>) = 0;
  virtual Result<std::vector<SandboxInfo>> list(policy::Grant<policy::List>) = 0;

  // Asks the guest which background commands still run, so that running_jobs() is not too high. For callers
  // who would be refused by that count.
  virtual boost::asio::awaitable<void> recount(policy::Caller cause, policy::SandboxId) = 0;

  // Until it is known which machines of an owner that died are this one's, so that nobody is told that they do
  // not exist; 20 s at the most.
  virtual boost::asio::awaitable<void> taken_over(std::stop_token) = 0;
  // Destroys, as `system`, what is past its age or belongs to nobody any more; called now and then, and at
  // start.
  virtual boost::asio::awaitable<void> sweep() = 0;
  // All sandboxes, for status lines.
  virtual std::vector<SandboxInfo> all() const = 0;
};

}  // namespace vmware
