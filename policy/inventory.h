#pragma once

#include <cstddef>
#include <optional>

#include "policy/request.h"
#include "policy/result.h"

namespace policy {

// What sandboxes there are. Answers at once, from memory, on the deciding thread.
class Inventory {
 public:
  virtual ~Inventory() = default;
  virtual std::optional<SandboxFacts> find(const SandboxId&) const = 0;
  // Sandboxes that exist or are being created; of one principal, or of all when it is null.
  virtual std::size_t count(const PrincipalId*) const = 0;
  // Background commands now running in a sandbox.
  virtual std::size_t running_jobs(const SandboxId&) const = 0;
};

// Where what rules say of sandboxes is kept. Called on the deciding thread.
class LabelKeeper {
 public:
  virtual ~LabelKeeper() = default;
  // Once this has answered, Inventory::find() tells them, after a restart too. On an error nothing changed.
  virtual Result<void> add(const SandboxId&, const Labels&) = 0;
};

}  // namespace policy
