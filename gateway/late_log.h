#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "audit/log.h"
#include "policy/decision.h"

namespace gateway {

// The log of a folder, opened at the first record, so that a start costs nothing and leaves nothing. A folder
// that cannot be opened makes every record fail, and is tried again with the next one.
class LateLog final : public policy::DecisionSink {
 public:
  // `clock` outlives the log.
  LateLog(std::string folder, const policy::Clock& clock, std::string deployment)
      : folder_(std::move(folder)), clock_(clock), deployment_(std::move(deployment)) {}

  // Digest of the policy in force, for the log's header.
  void set_policy(std::string digest);
  // Why it takes no records, or took the last one not; empty while all is well.
  std::optional<policy::Error> refused() const;

  void append(const policy::Decision&, policy::Durability, policy::Completion) override;
  policy::Result<policy::Receipt> close(const policy::Receipt&, const policy::Request&,
                                        const policy::Outcome&) override;
  policy::Result<policy::Receipt> note(const policy::Event&) override;

 private:
  policy::Result<audit::Log*> open();
  // Keeps what went wrong last, or that nothing does any more.
  void remember(const policy::Result<policy::Receipt>&);

  std::string folder_;
  const policy::Clock& clock_;
  const std::string deployment_;
  std::string policy_;
  mutable std::mutex mutex_;
  std::optional<policy::Error> failed_;
  std::unique_ptr<audit::Log> log_;  // last: what still waits for it runs while it ends
};

}  // namespace gateway
