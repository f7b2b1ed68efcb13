#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policy/clock.h"
#include "policy/enforcer.h"
#include "policy/grant.h"
#include "policy/inventory.h"
#include "policy/program.h"
#include "policy/shadow_watch.h"
#include "policy/standing.h"

namespace policy {

// The one door: the only maker of grants. Lives on one thread; decide() is called there only.
//
// A decision is, in this order: the engine's own rules (a stopped gateway, a broken configuration, a sandbox
// that is not the caller's), the policy program, the enforcers in their fixed order, the record. The first
// refusal stands.
class Engine final {
 public:
  struct Parts {
    std::shared_ptr<const Program> program;  // null: nothing is allowed, `refusal` says why
    std::vector<std::unique_ptr<Enforcer>> enforcers;
    DecisionSink* sink = nullptr;          // outlives the engine
    const Inventory* inventory = nullptr;  // outlives the engine
    const Clock* clock = nullptr;          // outlives the engine
    ShadowWatch* shadow = nullptr;         // outlives the engine
    // Outlives the engine. Null: what a rule would label is refused, but for what makes a sandbox.
    LabelKeeper* labels = nullptr;
    Facts settings;
  };
  explicit Engine(Parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // One overload an action, defined in engine.cc; a template could be specialised by anyone.
  Pending<Create> decide(const Caller&, Create);
  Pending<List> decide(const Caller&, List);
  Pending<Run> decide(const Caller&, Run);
  Pending<Start> decide(const Caller&, Start);
  Pending<Check> decide(const Caller&, Check);
  Pending<Stop> decide(const Caller&, Stop);
  Pending<CopyIn> decide(const Caller&, CopyIn);
  Pending<FetchOut> decide(const Caller&, FetchOut);
  Pending<PublishOut> decide(const Caller&, PublishOut);
  Pending<Screenshot> decide(const Caller&, Screenshot);
  Pending<Click> decide(const Caller&, Click);
  Pending<TypeText> decide(const Caller&, TypeText);
  Pending<PressKey> decide(const Caller&, PressKey);
  Pending<Extend> decide(const Caller&, Extend);
  Pending<Destroy> decide(const Caller&, Destroy);
  Pending<KillSwitch> decide(const Caller&, KillSwitch);
  Pending<Approve> decide(const Caller&, Approve);
  Pending<BuildImage> decide(const Caller&, BuildImage);
  Pending<RemoveImage> decide(const Caller&, RemoveImage);
  Pending<Vmrun> decide(const Caller&, Vmrun);
  Pending<Fetch> decide(const Caller&, Fetch);
  Pending<Tunnel> decide(const Caller&, Tunnel);

  // From now on every action but Destroy, List and KillSwitch is refused with this; an empty error lifts it.
  // Used for a configuration that is missing or broken, and for the kill switch.
  void refuse_all(std::optional<Error> why);

  // From now on this program decides. What stands is judged by it at once; what it refuses is withdrawn, with
  // an event in the log. A permission that a person approved stays while the same rule asks.
  void put_in_force(std::shared_ptr<const Program>);
  // Keeps a permission in view for as long as the answer lives; see Standing.
  template <class A>
  Standing stand(const Grant<A>& grant, Standing::Withdrawn withdrawn) {
    return stand(grant.judged(), std::move(withdrawn));
  }

  const Program* program() const;
  // The limits in force, for showing expiry times and caps.
  std::span<const Limit> limits() const;

 private:
  struct Door;
  Standing stand(const Judged&, Standing::Withdrawn);
  std::unique_ptr<Door> door_;
};

}  // namespace policy
