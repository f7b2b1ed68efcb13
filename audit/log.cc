#include "audit/log.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "audit/record.h"
#include "audit/recovery.h"
#include "audit/redact.h"

namespace audit {
namespace {

using policy::Error;
using policy::fail;
using policy::Json;
using policy::Receipt;
using policy::Result;

constexpr std::size_t kMaxUnfinished = 1024;  // bounds the list in `log.open`
constexpr const char* kKeyFile = "redact.key";

Result<std::string> redaction_key(Disk& disk) {
  const auto damaged = [] {
    return fail("audit.damaged",
                "`redact.key` does not hold 64 hex digits; restore it or move the log's folder away");
  };
  if (auto made = disk.open(kKeyFile, Disk::Open::create)) {
    auto key = policy::random_hex32() + policy::random_hex32();
    const auto n = (*made)->append(key + "\n");
    if (!n || *n != key.size() + 1) {
      (void)(*made)->truncate(0);
      return fail("audit.write", "cannot write `redact.key`");
    }
    if (auto done = (*made)->sync(); !done) return tl::unexpected(done.error());
    return key;
  }
  auto file = disk.open(kKeyFile, Disk::Open::append);
  if (!file) return tl::unexpected(file.error());
  std::string key(66, '\0');
  const auto n = (*file)->read(0, key);
  if (!n) return tl::unexpected(n.error());
  if (*n != 65 || key[64] != '\n') return damaged();
  key.resize(64);
  if (key.find_first_not_of("0123456789abcdef") != std::string::npos) return damaged();
  return key;
}

}  // namespace

struct Log::State {
  State(std::unique_ptr<Disk> owned, const policy::Clock& time, LogOptions given)
      : disk(std::move(owned)), clock(time), options(std::move(given)) {}

  struct Waiter {
    policy::Completion completion;
    Receipt receipt;
  };
  using Lock = std::unique_lock<std::mutex>;

  const std::unique_ptr<Disk> disk;
  const policy::Clock& clock;
  const LogOptions options;

  mutable std::mutex mutex;
  std::condition_variable work;  // the flusher waits for it
  std::condition_variable idle;  // whoever waits for the flusher
  std::thread flusher;

  // All below belongs to the mutex.
  std::unique_ptr<const Redactor> redactor;  // set once, at the first record
  std::optional<Error> ended;
  std::string log;
  std::shared_ptr<File> file;  // shared with a flush under way
  std::uint64_t number = 0, size = 0;
  std::optional<Walk::Previous> before;
  std::uint64_t seq = 0;
  std::string head;
  std::map<std::uint64_t, Walk::Unfinished> unfinished;
  struct Due {
    Draft draft;
    std::optional<std::uint64_t> ends;  // the decision it is the outcome of
  };
  std::deque<Due> first;  // records that must stand before any other
  std::vector<Torn> torn;
  std::vector<Waiter> waiters;
  bool dirty = false, flushing = false, stopping = false;
  std::uint64_t flushed = 0, written = 0;  // records, counted by this process
  std::chrono::steady_clock::time_point flush_at;
  Hasher hasher;
  std::string line;

  tl::unexpected<Error> end(std::string code, const std::string& message) {
    if (!ended) ended = Error{std::move(code), message, {}};
    return tl::unexpected(*ended);
  }

  tl::unexpected<Error> end_by_flush(const Error& why) {
    // The next process must not go on in this segment; the mark may be lost with the disk, and then
    // verification still says what the disk holds.
    if (!ended) (void)disk->open(suspect_mark(number), Disk::Open::create);
    return end("audit.sync", why.message + "; the log takes no more records until a restart");
  }

  // Reads what there is; cheap when nothing is.
  Result<void> start() {
    if (ended) return tl::unexpected(*ended);
    if (redactor) return {};
    auto resume = recover(*disk);
    if (!resume) return tl::unexpected(resume.error());
    // What recovery moved away must be reported even if this attempt gets no further.
    for (auto& piece : resume->torn) torn.push_back(std::move(piece));
    auto key = redaction_key(*disk);
    if (!key) return tl::unexpected(key.error());
    log = resume->log.empty() ? policy::random_hex32().substr(0, 8) : resume->log;
    file = std::move(resume->file);
    number = resume->number;
    size = resume->size;
    before = std::move(resume->before);
    seq = resume->seq;
    head = resume->head.empty() ? genesis(log, "") : resume->head;
    unfinished = std::move(resume->unfinished);
    redactor = std::make_unique<const Redactor>(*key);

    if (file) first.push_back({opening("start"), {}});  // else the segment's own first record says it
    for (const auto& piece : torn) {
      Json object;
      object["bytes"] = piece.bytes;
      object["kept"] = "torn/" + piece.kept;
      object["offset"] = piece.offset;
      object["segment"] = piece.segment;
      object["sha256"] = piece.sha256;
      object["why"] = "torn";
      first.push_back({draft(policy::Event{"log.gap", "warn", {}, {}, std::move(object)}, *redactor), {}});
    }
    if (!resume->suspect.empty()) {
      Json object;
      object["bytes"] = 0;
      object["segment"] = resume->suspect;
      object["why"] = "flush";
      first.push_back({draft(policy::Event{"log.gap", "alert", {}, {}, std::move(object)}, *redactor), {}});
    }
    for (const auto& [decision, action] : unfinished)
      first.push_back({draft_lost(decision, action.act, action.call), decision});
    return {};
  }

  Draft opening(const char* why) const {
    Json object;
    object["boot"] = boot_id();
    object["deployment"] = options.deployment;
    object["host"] = host_name();
    object["policy"] = options.policy;
    object["prev_segment"] = before ? before->name : "";
    if (before) {
      object["prev_head"] = head;
      object["prev_size"] = before->size;
    }
    object["software"] = "sallyport/" + options.version;
    object["why"] = why;
    if (before && !unfinished.empty()) {
      Json::Array list;
      for (const auto& [decision, action] : unfinished) {
        Json entry;
        entry["act"] = action.act;
        entry["call"] = action.call;
        entry["seq"] = decision;
        list.push_back(std::move(entry));
      }
      object["open"] = Json(std::move(list));
    }
    return draft(policy::Event{"log.open", "notice", {}, {}, std::move(object)}, *redactor);
  }

  // Makes the segment that is to be written next, with its first record.
  Result<void> begin_segment(const char* why) {
    const Segment segment{log, number};
    auto made = disk->open(segment.name(), Disk::Open::create);
    if (!made) return tl::unexpected(made.error());
    if (auto done = disk->sync_names(); !done) return tl::unexpected(done.error());
    file = std::move(*made);
    size = 0;
    if (auto stands = write(opening(why)); !stands) {
      file.reset();
      return tl::unexpected(stands.error());
    }
    before.reset();
    return {};
  }

  // Everything before the caller's own record: the segment, and what must be reported first.
  Result<void> prepare(Lock& lock) {
    if (auto ready = start(); !ready) return ready;
    while (file && size >= options.segment_bytes && first.empty()) {
      if (flushing) {
        idle.wait(lock, [&] { return !flushing; });
        if (ended) return tl::unexpected(*ended);
        continue;
      }
      if (auto done = file->sync(); !done) return end_by_flush(done.error());
      before = Walk::Previous{Segment{log, number}.name(), size};
      file.reset();
      ++number;
      if (auto made = begin_segment("rotate"); !made) return made;
    }
    if (!file) {
      if (auto made = begin_segment(written == 0 ? "start" : "rotate"); !made) return made;
    }
    while (!first.empty()) {
      if (auto stands = write(first.front().draft); !stands) return tl::unexpected(stands.error());
      if (first.front().ends) unfinished.erase(*first.front().ends);
      first.pop_front();
    }
    torn.clear();
    return {};
  }

  // Encodes, chains and writes one record at the end of the segment, or leaves the segment as it was.
  Result<Receipt> write(const Draft& draft) {
    const auto wall = clock.wall();
    const auto id = uuid_v7(wall, seq);
    auto hash = compose(draft, Stamp{log, seq, head, wall, clock.since_boot(), id}, hasher, line);
    if (line.size() > kMaxLine)
      return fail("audit.write", "the record is longer than a line of the log may be");
    for (std::string_view rest = line; !rest.empty();) {
      const auto n = file->append(rest);
      if (!n) {
        const auto undone = file->truncate(size);
        if (!undone) return end("audit.write", n.error().message + "; " + undone.error().message);
        return tl::unexpected(n.error());
      }
      rest.remove_prefix(*n);
    }
    size += line.size();
    head = std::move(hash);
    ++written;
    if (!dirty) {
      dirty = true;
      flush_at = std::chrono::steady_clock::now() + options.flush_within / 2;
      if (!flusher.joinable()) flusher = std::thread([this] { run(); });
      work.notify_one();
    }
    return Receipt{log, seq++, head};
  }

  void run() {
    Lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stopping || dirty; });
      if (!dirty) return;
      work.wait_until(lock, flush_at, [&] {
        return stopping || !waiters.empty() || std::chrono::steady_clock::now() >= flush_at;
      });
      std::vector<Waiter> served;
      served.swap(waiters);
      dirty = false;
      flushing = true;
      const std::uint64_t upto = written;
      const auto open_file = file;
      lock.unlock();
      const auto done = open_file ? open_file->sync() : Result<void>();
      lock.lock();
      flushing = false;
      if (!done) (void)end_by_flush(done.error());
      flushed = upto;
      const auto verdict = ended && ended->code == "audit.sync" ? ended : std::nullopt;
      lock.unlock();
      idle.notify_all();
      for (auto& waiter : served) {
        if (verdict) {
          waiter.completion(tl::unexpected(*verdict));
        } else {
          waiter.completion(std::move(waiter.receipt));
        }
      }
      served.clear();
      lock.lock();
    }
  }

  // Everything that drafts needs the key, and drafting happens without the lock.
  Result<const Redactor*> ready() {
    const Lock lock(mutex);
    if (auto started = start(); !started) return tl::unexpected(started.error());
    return redactor.get();
  }
};

Result<std::unique_ptr<Log>> Log::open(const std::string& folder, const policy::Clock& clock,
                                       LogOptions options) {
  auto disk = own_disk(folder);
  if (!disk) return tl::unexpected(disk.error());
  return std::make_unique<Log>(std::move(*disk), clock, std::move(options));
}

Log::Log(std::unique_ptr<Disk> disk, const policy::Clock& clock, LogOptions options)
    : state_(std::make_unique<State>(std::move(disk), clock, std::move(options))) {}

Log::~Log() {
  {
    const State::Lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  if (state_->flusher.joinable()) state_->flusher.join();
}

void Log::append(const policy::Decision& decision, policy::Durability durability,
                 policy::Completion completion) {
  auto& s = *state_;
  const auto redactor = s.ready();
  if (!redactor) return completion(tl::unexpected(redactor.error()));
  const Draft prepared = draft(decision, durability, **redactor);
  Result<Receipt> result = fail("audit.busy", "too many actions are under way; wait until some have ended");
  {
    State::Lock lock(s.mutex);
    const bool allows = decision.effect == policy::Effect::allow;
    if (!allows || s.unfinished.size() < kMaxUnfinished) {
      const auto before = s.prepare(lock);
      result = before ? s.write(prepared) : Result<Receipt>(tl::unexpected(before.error()));
    }
    if (result && allows) {
      s.unfinished.emplace(result->seq, Walk::Unfinished{std::string(act_of(decision.request.what)),
                                                         decision.request.id.call.text()});
    }
    if (result && durability == policy::Durability::durable) {
      s.waiters.push_back({std::move(completion), std::move(*result)});
      if (s.waiters.size() == 1) s.work.notify_one();
      return;
    }
  }
  completion(std::move(result));
}

Result<Receipt> Log::close(const Receipt& decision, const policy::Request& request,
                           const policy::Outcome& outcome) {
  auto& s = *state_;
  const auto redactor = s.ready();
  if (!redactor) return tl::unexpected(redactor.error());
  const Draft prepared = draft(decision, request, outcome, **redactor);
  State::Lock lock(s.mutex);
  if (auto before = s.prepare(lock); !before) return tl::unexpected(before.error());
  if (decision.log != s.log || !s.unfinished.contains(decision.seq))
    return fail("audit.outcome_twice",
                "the decision was not an allowed one of this log, or has its outcome already");
  auto result = s.write(prepared);
  if (result) s.unfinished.erase(decision.seq);
  return result;
}

Result<Receipt> Log::note(const policy::Event& event) {
  auto& s = *state_;
  if (!is_act(event.act) || event.act.starts_with("log."))
    return fail("audit.event", "an event needs a dotted name of its own, and `log.` is the log's");
  if (event.level != "info" && event.level != "notice" && event.level != "warn" && event.level != "alert")
    return fail("audit.event", "an event's level is info, notice, warn or alert");
  const auto redactor = s.ready();
  if (!redactor) return tl::unexpected(redactor.error());
  const Draft prepared = draft(event, **redactor);
  State::Lock lock(s.mutex);
  if (auto before = s.prepare(lock); !before) return tl::unexpected(before.error());
  return s.write(prepared);
}

std::optional<Error> Log::refused() const {
  const State::Lock lock(state_->mutex);
  return state_->ended;
}

std::optional<Receipt> Log::last() const {
  const State::Lock lock(state_->mutex);
  if (state_->seq == 0 || !state_->redactor) return std::nullopt;
  return Receipt{state_->log, state_->seq - 1, state_->head};
}

Result<void> Log::flush() {
  auto& s = *state_;
  State::Lock lock(s.mutex);
  const auto upto = s.written;
  if (s.flushed < upto && !s.ended) {
    s.flush_at = std::chrono::steady_clock::now();
    s.work.notify_all();
  }
  s.idle.wait(lock, [&] { return s.flushed >= upto || s.ended; });
  if (s.ended) return tl::unexpected(*s.ended);
  return {};
}

}  // namespace audit
