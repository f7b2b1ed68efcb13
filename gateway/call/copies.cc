#include "gateway/call/copies.h"

#include "gateway/approval/asking.h"

#include <chrono>
#include <functional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "enforcers/path_jail/accept.h"
#include "enforcers/path_jail/pack.h"
#include "enforcers/path_jail/publish.h"
#include "enforcers/path_jail/survey.h"
#include "gateway/call/staged.h"
#include "gateway/tools/encode.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

using Answer = asio::awaitable<mcp::ToolResult>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kDiskTime{10};
// Of the tar itself: headers, padding and end stand beside the bytes that the limits count.
constexpr std::uint64_t kTarOverhead = std::uint64_t{256} << 20;

// Runs `work` on a worker and resumes where the caller was. `work` may use nothing of the deciding thread's.
template <class T>
asio::awaitable<T> on_worker(asio::thread_pool& workers, std::function<T()> work) {
  const auto home = co_await asio::this_coro::executor;
  struct Wait {
    explicit Wait(const asio::any_io_executor& executor) : done(executor) {
      done.expires_at(asio::steady_timer::time_point::max());
    }
    asio::steady_timer done;
    std::optional<T> result;
  };
  const auto wait = std::make_shared<Wait>(home);
  asio::post(workers, [wait, home, work = std::move(work)] {
    auto result = std::make_shared<T>(work());
    asio::post(home, [wait, result] {
      wait->result.emplace(std::move(*result));
      wait->done.cancel();
    });
  });
  // A cancelled timer wakes us, and nothing else may: the work still refers to what the caller holds.
  while (!wait->result) co_await wait->done.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return std::move(*wait->result);
}

policy::Outcome failed_outcome(const policy::Error& error) { return {.ok = false, .code = error.code}; }

// Names with their digests, as far as a record can hold them.
policy::Json manifest_of(const std::vector<enforcers::CopiedFile>& files) {
  constexpr std::size_t kMostNames = 200;
  policy::Json::Array list;
  for (const auto& file : files) {
    if (list.size() == kMostNames) break;
    list.emplace_back(policy::Json::Object{{"name", policy::Json(file.path)},
                                           {"bytes", policy::Json(file.size)},
                                           {"sha256", policy::Json(file.digest.hex())}});
  }
  return policy::Json(std::move(list));
}

}  // namespace

Copies::Copies(Parts parts) : parts_(std::move(parts)), workers_(std::make_unique<asio::thread_pool>(2)) {}
Copies::~Copies() { workers_->join(); }

Result<std::unique_ptr<Copies>> Copies::open(Parts parts) {
  if (auto ready = empty_staging_folder(parts.staging); !ready) return tl::unexpected(ready.error());
  return std::unique_ptr<Copies>(new Copies(std::move(parts)));
}

Answer Copies::in(tools::CopyIn what, policy::Caller caller, std::stop_token stop,
                  std::shared_ptr<ClientChannel> client) {
  using Surveyed = Result<enforcers::SurveyedTree>;
  auto jail_of_caller = parts_.transfers->of(caller.who);
  if (!jail_of_caller) {
    note_refusal("copy_in", caller, jail_of_caller.error());
    co_return tools::failed(jail_of_caller.error());
  }
  std::function<Surveyed()> look = [jail = *jail_of_caller, path = what.host_path, stop]() -> Surveyed {
    if (auto there = jail->still_there(); !there) return tl::unexpected(there.error());
    return enforcers::survey(*jail, path, {}, stop);
  };
  auto surveyed = co_await on_worker<Surveyed>(*workers_, std::move(look));
  if (!surveyed) {
    // What cannot be looked at cannot be judged; it is an event, since no action came of it.
    note_refusal("copy_in", caller, surveyed.error());
    co_return tools::failed(surveyed.error());
  }
  const auto tree = std::make_shared<const enforcers::SurveyedTree>(std::move(*surveyed));

  policy::CopyIn action{what.sandbox, what.host_path, what.guest_path, tree->survey};
  const Asking asking{parts_.engine, parts_.desk, parts_.max_wait, client};
  auto deciding = decide(asking, caller, std::move(action), stop);
  auto verdict = co_await std::move(deciding);
  if (auto* refused = std::get_if<mcp::ToolResult>(&verdict)) co_return std::move(*refused);
  auto grant = std::move(*std::get_if<policy::Grant<policy::CopyIn>>(&verdict));

  auto made = Staged::make(parts_.staging);
  if (!made) {
    (void)grant.close(failed_outcome(made.error()));
    co_return tools::failed(made.error());
  }
  const std::shared_ptr<Staged> tar = std::move(*made);
  const auto* proof = grant.proof<enforcers::SourceProof>();
  std::function<Result<std::uint64_t>()> pack = [proof, tree, tar, stop]() -> Result<std::uint64_t> {
    if (proof == nullptr) return policy::fail("copy.unproved", "the path jail did not look at this copy");
    if (auto packed = enforcers::pack(*proof, *tree, tar->fd(), Clock::now() + kDiskTime, stop); !packed) {
      return tl::unexpected(packed.error());
    }
    return tar->size();
  };
  const auto packed = co_await on_worker<Result<std::uint64_t>>(*workers_, std::move(pack));
  if (!packed) {
    (void)grant.close(failed_outcome(packed.error()));
    co_return tools::failed(packed.error());
  }
  const auto shape =
      tree->kind == enforcers::Kind::file ? vmware::CopyShape::file : vmware::CopyShape::folder;
  const vmware::StagedFile staged{tar->path(), *packed};
  const auto put = co_await parts_.machines->put(std::move(grant), staged, shape, stop);
  if (!put) co_return tools::failed(put.error());
  tools::CopiedIn report{what.guest_path.text(), tree->survey.files, tree->survey.bytes};
  if (tree->kind == enforcers::Kind::file && !tree->files.empty())
    report.sha256 = tree->files[0].file.digest.hex();
  co_return tools::copied_in(report);
}

Answer Copies::out(policy::FetchOut what, policy::Caller caller, std::stop_token stop,
                   std::shared_ptr<ClientChannel> client) {
  const Asking asking{parts_.engine, parts_.desk, parts_.max_wait, client};
  auto deciding = decide(asking, caller, what, stop);
  auto verdict = co_await std::move(deciding);
  if (auto* refused = std::get_if<mcp::ToolResult>(&verdict)) co_return std::move(*refused);
  auto grant = std::move(*std::get_if<policy::Grant<policy::FetchOut>>(&verdict));
  const auto* found = grant.proof<enforcers::FetchProof>();
  if (found == nullptr) {
    const policy::Error unproved{"copy.unproved", "the path jail did not look at this copy"};
    (void)grant.close(failed_outcome(unproved));
    co_return tools::failed(unproved);
  }
  const enforcers::FetchProof proof = *found;
  const policy::Caller cause = grant.cause();

  // First half: the bytes, in private staging and under limits.
  enforcers::TarRules rules;
  rules.limits = tar_limits();
  auto named = Staged::name_only(parts_.staging);
  if (!named) {
    (void)grant.close(failed_outcome(named.error()));
    co_return tools::failed(named.error());
  }
  const std::shared_ptr<Staged> tar = std::move(*named);
  const auto fetched = co_await parts_.machines->fetch(std::move(grant), tar->path(),
                                                       rules.limits.total_bytes + kTarOverhead, stop);
  if (!fetched) co_return tools::failed(fetched.error());

  using Taken = Result<std::shared_ptr<enforcers::Accepted>>;
  std::function<Taken()> take = [proof, tar, rules, stop]() -> Taken {
    const auto file = tar->open();
    if (!file) return tl::unexpected(file.error());
    auto accepted = enforcers::accept(proof, file->get(), rules, Clock::now() + kDiskTime, stop);
    if (!accepted) return tl::unexpected(accepted.error());
    return std::make_shared<enforcers::Accepted>(std::move(*accepted));
  };
  auto taken = co_await on_worker<Taken>(*workers_, std::move(take));
  if (!taken) {
    note_refusal("copy_out", cause, taken.error());
    co_return tools::failed(taken.error());
  }
  const auto accepted = std::move(*taken);

  // Second half: what it turned out to be is judged again before anybody can see it.
  policy::PublishOut action{what.sandbox, what.guest_path, what.host_path, accepted->survey};
  auto publishing = decide(asking, cause, std::move(action), stop);
  auto judged = co_await std::move(publishing);
  if (auto* refused = std::get_if<mcp::ToolResult>(&judged)) co_return std::move(*refused);
  auto allowed = std::move(*std::get_if<policy::Grant<policy::PublishOut>>(&judged));
  const auto* place = allowed.proof<enforcers::PublishProof>();
  const std::string root = place != nullptr ? place->jail().root() : std::string();
  using Placed = Result<enforcers::Published>;
  std::function<Placed()> publish = [place, accepted]() -> Placed {
    if (place == nullptr) return policy::fail("copy.unproved", "the path jail did not look at this copy");
    return enforcers::publish(*place, *accepted);
  };
  const auto published = co_await on_worker<Placed>(*workers_, std::move(publish));
  if (!published) {
    (void)allowed.close(failed_outcome(published.error()));
    co_return tools::failed(published.error());
  }
  policy::Outcome outcome{.ok = true, .code = "ok", .bytes_out = published->bytes};
  outcome.details["files"] = manifest_of(accepted->files);
  outcome.details["replaced"] = published->replaced;
  outcome.details["skipped"] = accepted->skipped.count;
  (void)allowed.close(outcome);

  tools::CopiedOut report{root + "/" + published->path, published->files, published->bytes};
  if (accepted->kind == enforcers::Kind::file && !accepted->files.empty()) {
    report.sha256 = accepted->files[0].digest.hex();
  }
  for (const auto& [reason, count] : accepted->skipped.by_class) report.skipped[reason] = count;
  for (const auto& [name, reason] : accepted->skipped.names)
    report.skipped_names.push_back(name + " (" + reason + ")");
  co_return tools::copied_out(report);
}

// The tightest of the policy's limits on one copy, so that a copy is cut while it arrives.
enforcers::TarLimits Copies::tar_limits() const {
  enforcers::TarLimits limits;
  for (const auto& limit : parts_.engine->limits()) {
    const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(limit.max, 0));
    if (limit.meter == policy::Meter::copy_bytes) limits.total_bytes = std::min(limits.total_bytes, most);
    if (limit.meter == policy::Meter::copy_files)
      limits.entries = std::min<std::uint64_t>(limits.entries, most);
  }
  return limits;
}

void Copies::note_refusal(const char* what, const policy::Caller& caller, const policy::Error& error) const {
  policy::Event event;
  event.act = "call.refused";
  event.level = "notice";
  event.who = caller.who;
  event.object["action"] = what;
  event.object["code"] = error.code;
  event.object["call"] = caller.id.call.text();
  (void)parts_.sink->note(event);
}

}  // namespace gateway
