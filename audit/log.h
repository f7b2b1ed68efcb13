#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "audit/disk.h"
#include "policy/clock.h"
#include "policy/decision.h"

namespace audit {

struct LogOptions {
  std::string version = SALLYPORT_VERSION;
  std::string deployment = "personal";
  std::string policy;  // digest of the policy in force, as text
  std::uint64_t segment_bytes = 64 * 1024 * 1024;
  std::chrono::milliseconds flush_within{50};  // for `ordered` records
};

// The log: the one writer of a folder of segments (FORMAT.md). Thread-safe.
//
// append() and its kin write before they answer; an error means that the record does not stand. `durable`
// completions run on the log's own thread after the flush that covers them; one flush serves all that wait.
// A write that fails is undone and may be tried again by the next caller. A flush that fails ends the log:
// everything is refused until the process starts anew, because nobody knows what the disk holds.
//
// Codes: audit.write, audit.disk, audit.sync (ended by a failed flush), audit.damaged (the stored log is not
// what was written), audit.outcome_twice, audit.event, audit.busy.
class Log final : public policy::DecisionSink {
 public:
  // Takes the folder's lock. Files are read and made only at the first record. `clock` outlives the log.
  static policy::Result<std::unique_ptr<Log>> open(const std::string& folder, const policy::Clock& clock,
                                                   LogOptions options = {});
  // The same on a disk that is owned already.
  Log(std::unique_ptr<Disk> disk, const policy::Clock& clock, LogOptions options = {});
  // Flushes what is written; waiting completions run before it returns. Not to be called from a completion.
  ~Log() override;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void append(const policy::Decision&, policy::Durability, policy::Completion) override;
  policy::Result<policy::Receipt> close(const policy::Receipt& decision, const policy::Request&,
                                        const policy::Outcome&) override;
  policy::Result<policy::Receipt> note(const policy::Event&) override;

  // Why the log takes no more records for the life of this process; empty while it does.
  std::optional<policy::Error> refused() const;
  // The last record; empty before the first one.
  std::optional<policy::Receipt> last() const;
  // Waits until everything written so far is on disk, or the log has ended.
  policy::Result<void> flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace audit
