#include "enforcers/limits.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <variant>

#include "policy/reservation.h"

namespace enforcers {

using policy::Limit;
using policy::Meter;
using policy::Objection;
using policy::Per;
using policy::Request;

class Places final {
 public:
  void take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    ++taken_[key];
  }
  void give_back(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = taken_.find(key);
    if (at != taken_.end() && --at->second == 0) taken_.erase(at);
  }
  // Of one key, or of all that begin with `prefix`.
  std::int64_t taken(std::string_view prefix) const {
    const std::lock_guard lock(mutex_);
    std::int64_t sum = 0;
    for (auto at = taken_.lower_bound(prefix); at != taken_.end() && at->first.starts_with(prefix); ++at) {
      sum += at->second;
    }
    return sum;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> taken_;
};

namespace {

// Keys end in a newline, which no principal or id holds, so that no key begins another.
constexpr std::string_view kSandboxes = "sandboxes\n";
std::string sandboxes_key(const policy::PrincipalId& owner) {
  return std::string(kSandboxes) + owner.text + "\n";
}
std::string jobs_key(const policy::SandboxId& id) { return "jobs\n" + id.text() + "\n"; }

class HeldPlace final : public policy::Reservation {
 public:
  HeldPlace(std::shared_ptr<Places> places, std::string key)
      : places_(std::move(places)), key_(std::move(key)) {
    places_->take(key_);
  }
  ~HeldPlace() override { counted_elsewhere(); }
  void counted_elsewhere() override {
    if (!held_.exchange(false)) return;
    places_->give_back(key_);
  }

 private:
  std::shared_ptr<Places> places_;
  std::string key_;
  std::atomic<bool> held_{true};
};

// The sandbox a further background command would run in. A plain run counts: it goes on as one after a while.
const policy::SandboxId* starts_job_in(const policy::Action& action) {
  if (const auto* start = std::get_if<policy::Start>(&action)) return &start->sandbox;
  if (const auto* run = std::get_if<policy::Run>(&action)) return &run->sandbox;
  return nullptr;
}

const policy::Survey* survey_in(const policy::Action& action) {
  if (const auto* in = std::get_if<policy::CopyIn>(&action)) return &in->survey;
  if (const auto* out = std::get_if<policy::PublishOut>(&action)) return &out->survey;
  return nullptr;
}

bool makes_less(const policy::Action& action) {
  return std::holds_alternative<policy::Destroy>(action) || std::holds_alternative<policy::Stop>(action) ||
         std::holds_alternative<policy::List>(action) || std::holds_alternative<policy::KillSwitch>(action);
}

// Only what a client asked for is a call; what a call causes is part of it.
bool is_call(const Request& request) { return !request.id.parent.has_value(); }

Objection over(const Limit& limit, std::string what, std::string hint) {
  return {.code = "limit." + std::string(policy::spelling(limit.meter)),
          .reason = std::move(what) + " (limit " + std::to_string(limit.max) + ")",
          .hint = std::move(hint),
          .rule = limit.rule};
}

constexpr std::int64_t kSlices = 16;

std::int64_t slice_of(const policy::Clock& clock, const Limit& limit) {
  const std::int64_t window = std::max<std::int64_t>(std::chrono::nanoseconds(limit.window).count(), kSlices);
  return clock.since_boot().count() / (window / kSlices);
}

// Whose calls are counted together.
std::string key_of(const Request& request, const Limit& limit) {
  std::string key = limit.rule.tier + "\n" + limit.rule.id + "\n" + limit.rule.where + "\n";
  if (limit.per == Per::principal) key += request.who.principal.text;
  if (limit.per == Per::session && request.who.session) key += request.who.session->text();
  if (limit.per == Per::sandbox) {
    if (const auto* sandbox = policy::sandbox_of(request.what)) key += sandbox->text();
  }
  return key;
}

// After so long one more call is in the bucket. Rounded up, so that there are never too many.
std::chrono::nanoseconds refill_of(const Limit& limit) {
  const auto window = std::chrono::nanoseconds(limit.window).count();
  const auto max = std::max<std::int64_t>(limit.max, 1);
  return std::chrono::nanoseconds(window / max + (window % max == 0 ? 0 : 1));
}

// Longer than any bucket takes to fill; what would take longer is refused until it is nearer.
constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365 * 100);

std::chrono::nanoseconds depth_of(const Limit& limit) {
  const auto refill = refill_of(limit);
  return limit.burst > kLongest / refill ? kLongest : refill * limit.burst;
}

}  // namespace

Limits::Limits(const policy::Inventory& inventory, const policy::Clock& clock)
    : inventory_(inventory), clock_(clock), places_(std::make_shared<Places>()) {}

Limits::Window& Limits::window_of(const Request& request, const Limit& limit, std::int64_t slice) {
  Window& window = windows_[key_of(request, limit)];
  while (!window.slices.empty() && window.slices.front().first < slice - kSlices) {
    window.sum -= window.slices.front().second;
    window.slices.pop_front();
  }
  return window;
}

std::optional<Objection> Limits::judge_calls(const Request& request, const Limit& limit) {
  if (!is_call(request)) return std::nullopt;
  if (limit.burst > 0) return judge_bucket(request, limit);
  const Window& window = window_of(request, limit, slice_of(clock_, limit));
  if (window.sum < limit.max) return std::nullopt;
  return over(limit, "too many calls in " + std::to_string(limit.window.count()) + " s",
              "wait a while before the next call");
}

std::optional<Objection> Limits::judge_bucket(const Request& request, const Limit& limit) const {
  const auto known = buckets_.find(key_of(request, limit));
  if (known == buckets_.end()) return std::nullopt;
  const auto now = clock_.since_boot();
  const auto missing = std::max(known->second - now, std::chrono::nanoseconds(0));
  if (missing + refill_of(limit) <= depth_of(limit)) return std::nullopt;
  return over(limit,
              "too many calls at once; " + std::to_string(limit.burst) +
                  " may come at once, and further ones as in " + std::to_string(limit.window.count()) + " s",
              "wait a while before the next call");
}

void Limits::take_from_bucket(const Request& request, const Limit& limit) {
  const auto now = clock_.since_boot();
  // Full ones are as good as none.
  if (buckets_.size() > 1024) std::erase_if(buckets_, [&](const auto& entry) { return entry.second <= now; });
  auto& full = buckets_[key_of(request, limit)];
  full = std::max(full, now) + refill_of(limit);
}

void Limits::count_call(const Request& request, std::span<const Limit> limits) {
  if (!is_call(request)) return;
  for (const auto& limit : limits) {
    if (limit.meter != Meter::calls) continue;
    if (limit.burst > 0) {
      take_from_bucket(request, limit);
      continue;
    }
    const std::int64_t slice = slice_of(clock_, limit);
    Window& window = window_of(request, limit, slice);
    if (window.slices.empty() || window.slices.back().first != slice) window.slices.emplace_back(slice, 0);
    ++window.slices.back().second;
    ++window.sum;
  }
  // Windows that have run out are forgotten once there are many.
  if (windows_.size() > 1024) {
    std::erase_if(windows_, [](const auto& entry) { return entry.second.sum == 0; });
  }
}

std::optional<Objection> Limits::judge(const Request& request, const Limit& limit) {
  switch (limit.meter) {
    case Meter::sandboxes: {
      if (!std::holds_alternative<policy::Create>(request.what)) return std::nullopt;
      // A session or a sandbox has no count of its own; its principal's is the nearest that is not smaller.
      const auto* owner = limit.per == Per::everyone ? nullptr : &request.who.principal;
      const auto reserved = places_->taken(owner ? sandboxes_key(*owner) : std::string(kSandboxes));
      const auto there = static_cast<std::int64_t>(inventory_.count(owner)) + reserved;
      if (there < limit.max) return std::nullopt;
      return over(limit, "there are " + std::to_string(there) + " sandboxes already",
                  "destroy one that is not needed any more");
    }
    case Meter::jobs: {
      const auto* sandbox = starts_job_in(request.what);
      if (sandbox == nullptr) return std::nullopt;
      const auto running =
          static_cast<std::int64_t>(inventory_.running_jobs(*sandbox)) + places_->taken(jobs_key(*sandbox));
      if (running < limit.max) return std::nullopt;
      return over(limit, std::to_string(running) + " commands run in this sandbox already",
                  "stop one, or wait until one ends");
    }
    case Meter::sandbox_age:
      // The vmrun commands of a destruction must go through; those of others are never asked for.
      if (std::holds_alternative<policy::Vmrun>(request.what)) return std::nullopt;
      if (!request.sandbox || request.sandbox->age.count() < limit.max) return std::nullopt;
      return over(limit, "the sandbox is past its age, in seconds", "create a new one");
    case Meter::calls:
      return judge_calls(request, limit);
    case Meter::copy_bytes: {
      const auto* survey = survey_in(request.what);
      if (survey == nullptr ||
          survey->bytes <= static_cast<std::uint64_t>(std::max<std::int64_t>(limit.max, 0))) {
        return std::nullopt;
      }
      return over(limit, "the copy has " + std::to_string(survey->bytes) + " bytes", "copy less at a time");
    }
    case Meter::copy_files: {
      const auto* survey = survey_in(request.what);
      if (survey == nullptr ||
          survey->files <= static_cast<std::uint64_t>(std::max<std::int64_t>(limit.max, 0))) {
        return std::nullopt;
      }
      return over(limit, "the copy has " + std::to_string(survey->files) + " files",
                  "copy fewer at a time, or pack them into one file");
    }
  }
  return std::nullopt;
}

std::optional<Objection> Limits::check(const Request& request, std::span<const Limit> limits,
                                       policy::Proofs& proofs) noexcept {
  try {
    if (request.who.transport == policy::Transport::system || makes_less(request.what)) return std::nullopt;
    for (const auto& limit : limits) {
      if (auto objection = judge(request, limit)) return objection;
    }
    count_call(request, limits);
    std::string key;
    if (std::holds_alternative<policy::Create>(request.what)) key = sandboxes_key(request.who.principal);
    if (const auto* sandbox = starts_job_in(request.what)) key = jobs_key(*sandbox);
    if (!key.empty()) proofs.put<policy::Reservation>(std::make_unique<HeldPlace>(places_, std::move(key)));
    return std::nullopt;
  } catch (const std::exception&) {
    return Objection{
        .code = "limit.failed", .reason = "the limits could not be checked", .hint = "try again"};
  }
}

}  // namespace enforcers
