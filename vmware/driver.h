#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "policy/engine.h"
#include "policy/grant.h"
#include "vmware/process.h"
#include "vmware/settings.h"
#include "vmware/turns.h"
#include "vmware/vmrun_command.h"
#include "vmware/vmrun_output.h"

namespace vmware {

using policy::Result;

struct VmrunReply {
  VmrunAnswer answer;  // never `failed`
  std::string out;     // what vmrun printed, capped
};

// Runs vmrun. Every command is decided first, then queued: at most four work at a time, one for a machine.
// Errors are those of vmrun_error() and: `vmrun.timeout` (killed at its deadline: what it did is unknown, so
// look at the state before the next step), `vmrun.overgrown`, `vmrun.flood`, `cancelled`, `busy`, and the
// code of a denial.
class Driver final {
 public:
  // All outlive the driver.
  Driver(const MachineSettings& settings, Processes& processes);

  // The engine, before the first command. It outlives the driver.
  void attach(policy::Engine& engine) { engine_ = &engine; }

  // Asks for permission on behalf of `cause` and carries the command out.
  boost::asio::awaitable<Result<VmrunReply>> call(policy::Caller cause, VmrunCommand, std::stop_token);
  // What the grant names and nothing else; closes the grant.
  boost::asio::awaitable<Result<VmrunReply>> carry_out(policy::Grant<policy::Vmrun>, VmrunTerms,
                                                       std::stop_token);

  // .vmx paths of the running machines. `shared`: an answer up to a second old will do.
  enum class Freshness { shared, fresh };
  boost::asio::awaitable<Result<std::vector<std::string>>> running(policy::Caller cause, Freshness,
                                                                   std::stop_token);

  // Forgets the queue of a machine that is gone.
  void forget(const std::string& vmx) { machines_.erase(vmx); }

 private:
  struct Listed {
    std::chrono::steady_clock::time_point at;
    std::vector<std::string> paths;
  };

  std::shared_ptr<Turns> machine(const std::string& vmx);
  boost::asio::awaitable<Result<ProcessResult>> spawn(policy::Vmrun, VmrunTerms, std::stop_token);

  const MachineSettings& settings_;
  Processes& processes_;
  policy::Engine* engine_ = nullptr;
  Turns working_{4};
  Turns waiting_{16};
  Turns listing_{1};
  std::map<std::string, std::shared_ptr<Turns>, std::less<>> machines_;
  std::optional<Listed> listed_;
};

}  // namespace vmware
