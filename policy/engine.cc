#include "policy/engine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "policy/builtin.h"

namespace policy {
namespace {

constexpr std::string_view kApproved = "allow.approved";

RuleRef own_rule(std::string_view id) { return {"builtin:" + std::string(id), "builtin", ""}; }

Judgement refusal(std::string code, std::string_view rule, std::string reason, std::string hint = {}) {
  Judgement judgement;
  judgement.effect = Effect::deny;
  judgement.code = std::move(code);
  judgement.rule = own_rule(rule);
  judgement.reason = std::move(reason);
  judgement.hint = std::move(hint);
  return judgement;
}

// Actions that end things or only tell which there are. They go on in a stopped gateway and with a log that
// cannot be written, or a full disk would keep machines running.
bool winds_down(const Action& action) {
  if (const auto* vmrun = std::get_if<Vmrun>(&action)) {
    return vmrun->verb == VmrunVerb::list || vmrun->verb == VmrunVerb::stop ||
           vmrun->verb == VmrunVerb::delete_vm;
  }
  return std::holds_alternative<Destroy>(action) || std::holds_alternative<List>(action);
}

// Closes the decision it was made for, whose receipt is in the grant.
class RecordedTicket final : public Ticket {
 public:
  explicit RecordedTicket(DecisionSink& sink) : sink_(sink) {}
  Result<Receipt> close(const Judged& judged, const Outcome& outcome) noexcept override {
    try {
      return sink_.close(judged.receipt, judged.request, outcome);
    } catch (const std::exception&) {
      return fail("audit.failed", "the log failed while the outcome was written");
    } catch (...) {
      return fail("audit.failed", "the log failed while the outcome was written");
    }
  }

 private:
  DecisionSink& sink_;
};

// For what went on although its decision could not be recorded: the log gets a notice in place of an outcome.
class UnrecordedTicket final : public Ticket {
 public:
  explicit UnrecordedTicket(DecisionSink* sink) : sink_(sink) {}
  Result<Receipt> close(const Judged& judged, const Outcome& outcome) noexcept override {
    if (sink_ == nullptr) return fail("audit.failed", "there is no log");
    try {
      Event event;
      event.act = "decision.unrecorded";
      event.level = "alert";
      event.who = judged.request.who;
      if (const auto* sandbox = sandbox_of(judged.request.what)) event.sandbox = *sandbox;
      event.object = Json(Json::Object{{"action", Json(name_of(judged.request.what))},
                                       {"call", Json(judged.request.id.call.text())},
                                       {"code", Json(outcome.code)},
                                       {"ok", Json(outcome.ok)}});
      return sink_->note(event);
    } catch (...) {
      return fail("audit.failed", "the log failed while the outcome was written");
    }
  }

 private:
  DecisionSink* sink_;
};

}  // namespace

struct Engine::Door {
  Parts parts;
  std::optional<Error> stopped;
  std::string text_key = random_hex32();  // for digests of typed text in questions to people
  std::shared_ptr<Standing::Entries> standing = std::make_shared<Standing::Entries>();
  std::uint64_t last_standing = 0;
  std::chrono::nanoseconds boot_was_at{};  // wall time of the beginning of since_boot(), as it was at first

  explicit Door(Parts given) : parts(std::move(given)) {
    if (parts.clock != nullptr)
      boot_was_at = parts.clock->wall().time_since_epoch() - parts.clock->since_boot();
  }

  // What rules take for the time. A wall clock that is set back brings nothing back that has ended.
  std::optional<std::chrono::sys_seconds> now() const {
    if (parts.clock == nullptr) return std::nullopt;
    const auto went_by = boot_was_at + parts.clock->since_boot();
    const auto later = std::max(parts.clock->wall().time_since_epoch(), went_by);
    return std::chrono::sys_seconds(std::chrono::floor<std::chrono::seconds>(later));
  }

  // A decision on its way through the log. Shared by Pending and the log's completion; whichever comes
  // second hands the verdict over. When nobody collects it, it dies here and a grant in it is `abandoned`.
  template <class A>
  class Handover final {
   public:
    void arrive(Verdict<A> verdict) {
      typename Pending<A>::Then then;
      {
        const std::lock_guard lock(mutex_);
        if (arrived_) return;  // a log that completes twice changes nothing
        arrived_ = true;
        if (!then_) {
          verdict_.emplace(std::move(verdict));
          return;
        }
        then.swap(then_);
      }
      then(std::move(verdict));
    }
    void collect(typename Pending<A>::Then then) {
      std::optional<Verdict<A>> verdict;
      {
        const std::lock_guard lock(mutex_);
        if (collected_) grant_was_spent();
        collected_ = true;
        if (!verdict_) {
          then_ = std::move(then);
          return;
        }
        verdict.emplace(std::move(*verdict_));
        verdict_.reset();
      }
      then(std::move(*verdict));
    }

   private:
    std::mutex mutex_;
    bool arrived_ = false, collected_ = false;
    std::optional<Verdict<A>> verdict_;
    typename Pending<A>::Then then_;
  };

  // What a person is shown of an action, and the digest that an answer is bound to.
  struct Shown {
    Sha256 action;
    Json what;
  };
  Shown shown_of(const Action& action) const;
  // Everything but the record. Never throws: what fails inside denies.
  Judgement judge(Request& request, const std::optional<Approval>& approval, Proofs& proofs) noexcept;
  bool covers(const Approval& approval, const Request& request, std::string_view people) const;
  Judgement judge_again(const Standing::Entry& entry) const;
  std::optional<Judgement> own_rules(Request& request) const;
  std::optional<Judgement> enforce(const Request& request, Proofs& proofs);
  // What the rules that let it through say of the sandbox holds before anything is done; later judgements
  // rest on it.
  std::optional<Judgement> put_labels(const Request& request, Labels& labels);

  Sha256 digest() const { return parts.program ? parts.program->digest() : Sha256{}; }

  template <class A>
  Pending<A> decide(const Caller& caller, A what);
  template <class A>
  static Verdict<A> verdict(std::unique_ptr<Judged> judged, Judgement judgement, Result<Receipt> recorded,
                            DecisionSink* sink, Shown shown);
};

std::optional<Judgement> Engine::Door::own_rules(Request& request) const {
  if (stopped && !winds_down(request.what) && !std::holds_alternative<KillSwitch>(request.what)) {
    return refusal(stopped->code.empty() ? "deny.stopped" : stopped->code, "stopped", stopped->message);
  }
  const auto* sandbox = sandbox_of(request.what);
  if (sandbox == nullptr) return std::nullopt;
  if (parts.inventory != nullptr) request.sandbox = parts.inventory->find(*sandbox);
  if (request.who.transport == Transport::system) return std::nullopt;
  if (!request.sandbox || request.sandbox->owner != request.who.principal) {
    request.sandbox.reset();
    return refusal("sandbox.unknown", "own-sandboxes", "there is no sandbox `" + sandbox->text() + "`",
                   "`list` shows the sandboxes there are");
  }
  return std::nullopt;
}

std::optional<Judgement> Engine::Door::enforce(const Request& request, Proofs& proofs) {
  const auto limits = parts.program ? parts.program->limits() : std::span<const Limit>{};
  for (const auto& enforcer : parts.enforcers) {
    auto objection = enforcer->check(request, limits, proofs);
    if (!objection) continue;
    Judgement judgement;
    judgement.effect = Effect::deny;
    judgement.code = std::move(objection->code);
    judgement.rule = objection->rule ? std::move(*objection->rule)
                                     : RuleRef{"enforcer:" + std::string(enforcer->name()), "builtin", ""};
    judgement.reason = std::move(objection->reason);
    judgement.hint = std::move(objection->hint);
    return judgement;
  }
  return std::nullopt;
}

std::optional<Judgement> Engine::Door::put_labels(const Request& request, Labels& labels) {
  const auto* sandbox = sandbox_of(request.what);
  if (labels.empty() || sandbox == nullptr) return std::nullopt;
  const auto has = request.sandbox ? request.sandbox->labels : Labels{};
  std::erase_if(labels, [&](const auto& label) {
    const auto at = has.find(label.first);
    return at != has.end() && at->second <= label.second;
  });
  if (labels.empty()) return std::nullopt;
  const auto kept = parts.labels == nullptr ? fail("labels.nowhere", "labels are kept nowhere")
                                            : parts.labels->add(*sandbox, labels);
  if (kept) return std::nullopt;
  return refusal("deny.obligation", "labels",
                 "a rule labels the sandbox, and the label could not be kept: " + kept.error().message,
                 "tell the operator");
}

Engine::Door::Shown Engine::Door::shown_of(const Action& action) const {
  auto what = describe(action, text_key);
  const auto digest = sha256(canonical(Json(Json::Object{{"act", Json(name_of(action))}, {"args", what}})));
  return {digest, std::move(what)};
}

bool Engine::Door::covers(const Approval& approval, const Request& request, std::string_view people) const {
  const bool named = approval.channel == Approve::Channel::command || people == kPeopleInClient;
  return named && parts.clock != nullptr && parts.clock->since_boot() < approval.until &&
         approval.asker == request.who.principal && approval.policy == digest() &&
         approval.action == shown_of(request.what).action;
}

Judgement Engine::Door::judge(Request& request, const std::optional<Approval>& approval,
                              Proofs& proofs) noexcept {
  const auto broken = [] {
    return refusal("deny.internal", "internal", "the decision failed inside, and what fails is refused");
  };
  try {
    if (auto refused = own_rules(request)) return std::move(*refused);
    Judgement judgement;
    if (parts.program) {
      std::optional<Request> asked;
      if (parts.shadow != nullptr) asked = parts.shadow->as_asked(request);
      judgement = parts.program->judge(request, parts.settings);
      if (parts.shadow != nullptr) {
        judgement.shadow_policy = parts.shadow->watch(std::move(asked), request, parts.settings, judgement);
      }
    } else if (auto granted = builtin_grant(request)) {
      judgement = std::move(*granted);
    } else if (stopped) {
      judgement =
          refusal(stopped->code.empty() ? "deny.stopped" : stopped->code, "stopped", stopped->message);
    } else {
      judgement = refusal("deny.default", "no-policy", "no policy is loaded, so nothing is allowed");
    }
    // A lowered number belongs to what was shown, so the digest is taken after the program.
    if (judgement.effect == Effect::ask && approval && covers(*approval, request, judgement.ask_who)) {
      judgement.effect = Effect::allow;
      judgement.code = kApproved;
    }
    if (judgement.effect != Effect::allow) return judgement;
    auto objected = enforce(request, proofs);
    if (!objected) objected = put_labels(request, judgement.labels);
    if (objected) {
      objected->matched = std::move(judgement.matched);
      objected->unknown = std::move(judgement.unknown);
      objected->waivers = std::move(judgement.waivers);
      objected->shadow = std::move(judgement.shadow);
      objected->shadow_policy = std::move(judgement.shadow_policy);
      return std::move(*objected);
    }
    return judgement;
  } catch (...) {
    return broken();
  }
}

// What stands is judged by the rules alone, as enforcers look at what is about to begin. A person's approval
// goes on counting where the same rules ask the same people.
Judgement Engine::Door::judge_again(const Standing::Entry& entry) const {
  auto request = entry.request;
  request.at = now();
  if (const auto* sandbox = sandbox_of(request.what); sandbox != nullptr && parts.inventory != nullptr) {
    request.sandbox = parts.inventory->find(*sandbox);
  }
  auto judgement = parts.program->judge(request, parts.settings);
  const bool approved = !entry.people.empty() && judgement.ask_who == entry.people &&
                        judgement.rule.id == entry.rule.id && judgement.rule.tier == entry.rule.tier;
  if (judgement.effect == Effect::ask && approved) judgement.effect = Effect::allow;
  return judgement;
}

template <class A>
Verdict<A> Engine::Door::verdict(std::unique_ptr<Judged> judged, Judgement judgement,
                                 Result<Receipt> recorded, DecisionSink* sink, Shown shown) {
  std::optional<Receipt> receipt;
  if (recorded) receipt = std::move(*recorded);
  if (!receipt && judgement.effect != Effect::deny &&
      !(judgement.effect == Effect::allow && winds_down(judged->request.what))) {
    judgement = refusal("deny.audit", "record-first",
                        "the decision could not be written to the log, so nothing was done",
                        "tell the operator that the log cannot be written");
  }
  switch (judgement.effect) {
    case Effect::allow: {
      std::unique_ptr<Ticket> ticket;
      if (receipt) {
        judged->receipt = std::move(*receipt);
        ticket = std::make_unique<RecordedTicket>(*sink);
      } else {
        ticket = std::make_unique<UnrecordedTicket>(sink);
      }
      return Grant<A>(std::move(judged), std::move(ticket));
    }
    case Effect::ask:
      return Ask{.rule = judgement.rule,
                 .reason = judgement.reason,
                 .who = judgement.ask_who,
                 .within = judgement.ask_within,
                 .action = shown.action,
                 .action_name = std::string(name_of(judged->request.what)),
                 .what = std::move(shown.what),
                 .policy = judged->policy,
                 .receipt = std::move(receipt)};
    case Effect::deny:
      break;
  }
  return Denial{judgement.code, judgement.rule, judgement.reason,
                judgement.hint, judged->policy, std::move(receipt)};
}

template <class A>
Pending<A> Engine::Door::decide(const Caller& caller, A what) {
  auto handover = std::make_shared<Handover<A>>();
  const auto started = parts.clock != nullptr ? parts.clock->since_boot() : std::chrono::nanoseconds{};

  auto judged = std::make_unique<Judged>(Judged{
      Request{caller.who, std::nullopt, Action(std::move(what)), caller.id}, {}, {}, digest(), {}, {}, {}});
  judged->request.at = now();
  Judgement judgement = judge(judged->request, caller.approval, judged->proofs);
  judged->rule = judgement.rule;
  if (judgement.code == kApproved) judged->people = judgement.ask_who;
  if (judgement.effect == Effect::allow) {
    judged->labels = judgement.labels;
    judged->injections = judgement.injections;
  }

  Decision decision{judged->request, judgement.effect,  judgement.code,    judgement.rule, judgement.reason,
                    judgement.hint,  judgement.matched, judgement.unknown, judged->policy, 0};
  if (parts.clock != nullptr) {
    decision.micros =
        std::chrono::duration_cast<std::chrono::microseconds>(parts.clock->since_boot() - started).count();
  }
  if (judgement.code == kApproved) decision.approval = caller.approval;
  decision.waivers = std::move(judgement.waivers);
  decision.shadow = std::move(judgement.shadow);
  decision.shadow_policy = std::move(judgement.shadow_policy);
  decision.labels = judged->labels;
  decision.injections = judged->injections;
  Shown shown;  // empty unless a person is asked
  if (judgement.effect == Effect::ask) shown = shown_of(decision.request.what);
  const auto durability =
      judgement.effect == Effect::allow ? durability_of(decision.request.what) : Durability::ordered;

  struct Parcel {
    std::unique_ptr<Judged> judged;
    Judgement judgement;
    std::atomic<bool> opened = false;
  };
  auto parcel = std::make_shared<Parcel>();
  parcel->judged = std::move(judged);
  parcel->judgement = std::move(judgement);
  const Completion complete = [handover, parcel, shown, sink = parts.sink](Result<Receipt> recorded) {
    if (parcel->opened.exchange(true)) return;  // a log that completes twice changes nothing
    handover->arrive(verdict<A>(std::move(parcel->judged), std::move(parcel->judgement), std::move(recorded),
                                sink, shown));
  };
  if (parts.sink == nullptr) {
    complete(fail("audit.failed", "there is no log"));
  } else {
    try {
      parts.sink->append(decision, durability, complete);
    } catch (...) {
      complete(fail("audit.failed", "the log failed while the decision was written"));
    }
  }
  return Pending<A>([handover](typename Pending<A>::Then then) { handover->collect(std::move(then)); });
}

Engine::Engine(Parts parts) : door_(std::make_unique<Door>(std::move(parts))) {
  if (door_->parts.shadow != nullptr) door_->parts.shadow->in_force(door_->parts.program.get());
}
Engine::~Engine() = default;

Pending<Create> Engine::decide(const Caller& caller, Create what) {
  return door_->decide(caller, std::move(what));
}
Pending<List> Engine::decide(const Caller& caller, List what) {
  return door_->decide(caller, std::move(what));
}
Pending<Run> Engine::decide(const Caller& caller, Run what) { return door_->decide(caller, std::move(what)); }
Pending<Start> Engine::decide(const Caller& caller, Start what) {
  return door_->decide(caller, std::move(what));
}
Pending<Check> Engine::decide(const Caller& caller, Check what) {
  return door_->decide(caller, std::move(what));
}
Pending<Stop> Engine::decide(const Caller& caller, Stop what) {
  return door_->decide(caller, std::move(what));
}
Pending<CopyIn> Engine::decide(const Caller& caller, CopyIn what) {
  return door_->decide(caller, std::move(what));
}
Pending<FetchOut> Engine::decide(const Caller& caller, FetchOut what) {
  return door_->decide(caller, std::move(what));
}
Pending<PublishOut> Engine::decide(const Caller& caller, PublishOut what) {
  return door_->decide(caller, std::move(what));
}
Pending<Screenshot> Engine::decide(const Caller& caller, Screenshot what) {
  return door_->decide(caller, std::move(what));
}
Pending<Click> Engine::decide(const Caller& caller, Click what) {
  return door_->decide(caller, std::move(what));
}
Pending<TypeText> Engine::decide(const Caller& caller, TypeText what) {
  return door_->decide(caller, std::move(what));
}
Pending<PressKey> Engine::decide(const Caller& caller, PressKey what) {
  return door_->decide(caller, std::move(what));
}
Pending<Extend> Engine::decide(const Caller& caller, Extend what) {
  return door_->decide(caller, std::move(what));
}
Pending<Destroy> Engine::decide(const Caller& caller, Destroy what) {
  return door_->decide(caller, std::move(what));
}
Pending<Approve> Engine::decide(const Caller& caller, Approve what) {
  return door_->decide(caller, std::move(what));
}
Pending<KillSwitch> Engine::decide(const Caller& caller, KillSwitch what) {
  return door_->decide(caller, std::move(what));
}
Pending<BuildImage> Engine::decide(const Caller& caller, BuildImage what) {
  return door_->decide(caller, std::move(what));
}
Pending<RemoveImage> Engine::decide(const Caller& caller, RemoveImage what) {
  return door_->decide(caller, std::move(what));
}
Pending<Vmrun> Engine::decide(const Caller& caller, Vmrun what) {
  return door_->decide(caller, std::move(what));
}

Pending<Fetch> Engine::decide(const Caller& caller, Fetch what) {
  return door_->decide(caller, std::move(what));
}
Pending<Tunnel> Engine::decide(const Caller& caller, Tunnel what) {
  return door_->decide(caller, std::move(what));
}

void Engine::refuse_all(std::optional<Error> why) { door_->stopped = std::move(why); }

Standing Engine::stand(const Judged& judged, Standing::Withdrawn withdrawn) {
  const auto key = ++door_->last_standing;
  door_->standing->emplace(key, Standing::Entry{judged.request, judged.rule, judged.people,
                                                judged.receipt.seq, std::move(withdrawn)});
  return {door_->standing, key};
}

void Engine::put_in_force(std::shared_ptr<const Program> program) {
  auto& door = *door_;
  door.parts.program = std::move(program);
  if (door.parts.shadow != nullptr) door.parts.shadow->in_force(door.parts.program.get());
  if (!door.parts.program) return;
  struct Refused {
    Standing::Entry entry;
    Denial denial;
  };
  std::vector<Refused> refused;
  for (auto at = door.standing->begin(); at != door.standing->end();) {
    const auto judgement = door.judge_again(at->second);
    if (judgement.effect == Effect::allow) {
      ++at;
      continue;
    }
    refused.push_back({std::move(at->second), Denial{judgement.code, judgement.rule, judgement.reason,
                                                     judgement.hint, door.digest(), std::nullopt}});
    at = door.standing->erase(at);
  }
  // Afterwards: whoever is told may let go of other permissions.
  for (auto& [entry, denial] : refused) {
    Event event{.act = "grant.withdrawn", .level = "notice", .who = entry.request.who};
    if (const auto* sandbox = sandbox_of(entry.request.what)) event.sandbox = *sandbox;
    event.object["action"] = std::string(name_of(entry.request.what));
    event.object["decision"] = static_cast<std::int64_t>(entry.seq);
    event.object["code"] = denial.code;
    event.object["rule"] = denial.rule.id;
    if (door.parts.sink != nullptr) (void)door.parts.sink->note(event);
    if (entry.withdrawn) entry.withdrawn(denial);
  }
}

const Program* Engine::program() const { return door_->parts.program.get(); }

std::span<const Limit> Engine::limits() const {
  if (!door_->parts.program) return {};
  return door_->parts.program->limits();
}

}  // namespace policy
