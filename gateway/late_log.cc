#include "gateway/late_log.h"

#include <utility>

namespace gateway {

void LateLog::set_policy(std::string digest) {
  const std::lock_guard lock(mutex_);
  policy_ = std::move(digest);
}

std::optional<policy::Error> LateLog::refused() const {
  const std::lock_guard lock(mutex_);
  if (log_) {
    if (auto ended = log_->refused()) return ended;
  }
  return failed_;
}

void LateLog::remember(const policy::Result<policy::Receipt>& written) {
  const std::lock_guard lock(mutex_);
  failed_ = written ? std::nullopt : std::optional(written.error());
}

policy::Result<audit::Log*> LateLog::open() {
  const std::lock_guard lock(mutex_);
  if (!log_) {
    audit::LogOptions options;
    options.policy = policy_;
    options.deployment = deployment_;
    auto opened = audit::Log::open(folder_, clock_, std::move(options));
    if (!opened) {
      failed_ = opened.error();
      return tl::unexpected(opened.error());
    }
    failed_.reset();
    log_ = std::move(*opened);
  }
  return log_.get();
}

void LateLog::append(const policy::Decision& decision, policy::Durability durability,
                     policy::Completion completion) {
  auto log = open();
  if (!log) return completion(tl::unexpected(log.error()));
  (*log)->append(decision, durability, [this, completion = std::move(completion)](auto written) {
    remember(written);
    completion(std::move(written));
  });
}

policy::Result<policy::Receipt> LateLog::close(const policy::Receipt& decision,
                                               const policy::Request& request,
                                               const policy::Outcome& outcome) {
  auto log = open();
  if (!log) return tl::unexpected(log.error());
  auto written = (*log)->close(decision, request, outcome);
  remember(written);
  return written;
}

policy::Result<policy::Receipt> LateLog::note(const policy::Event& event) {
  auto log = open();
  if (!log) return tl::unexpected(log.error());
  auto written = (*log)->note(event);
  remember(written);
  return written;
}

}  // namespace gateway
