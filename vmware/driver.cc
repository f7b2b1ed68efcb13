#include "vmware/driver.h"

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

#include "vmware/settled.h"

namespace vmware {
namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kListShared{1};
constexpr std::size_t kLoggedText = 300;

struct Refusal {
  policy::Error operator()(const policy::Denial& denial) const {
    return {denial.code, "the vmrun command it takes was refused: " + denial.reason, denial.rule.where};
  }
  policy::Error operator()(const policy::Ask& ask) const {
    return {"deny.ask",
            "the vmrun command it takes needs a person's yes, which vmrun commands cannot wait for",
            ask.rule.where};
  }
  policy::Error operator()(const policy::Grant<policy::Vmrun>&) const { return {}; }
};

std::string verb_of(const policy::Vmrun& what) {
  return "`" + std::string(policy::spelling(what.verb)) + "`";
}

policy::Error ended_badly(const policy::Vmrun& what, const ProcessResult& result) {
  switch (result.end) {
    case ProcessEnd::timed_out:
      return {"vmrun.timeout",
              "vmrun " + verb_of(what) + " did not end in time; whether it took effect is unknown"};
    case ProcessEnd::stopped:
      return {"cancelled", "cancelled while vmrun " + verb_of(what) + " was at work"};
    case ProcessEnd::overgrown:
      return {"vmrun.overgrown", "what vmrun " + verb_of(what) + " was writing grew beyond its limit"};
    case ProcessEnd::signalled:
      return {"vmrun.died",
              "vmrun " + verb_of(what) + " was killed by signal " + std::to_string(result.signal)};
    case ProcessEnd::exited:
      break;
  }
  return {"vmrun.flood", "vmrun " + verb_of(what) + " printed more than is believed"};
}

policy::Outcome outcome_of(const Result<VmrunReply>& reply, const ProcessResult* process,
                           const GuestLogin& login) {
  policy::Outcome outcome;
  outcome.ok = reply.has_value();
  outcome.code = reply ? "ok" : reply.error().code;
  if (process == nullptr) return outcome;
  outcome.duration_us = process->took.count();
  if (process->end == ProcessEnd::exited) outcome.exit = process->exit;
  if (reply && reply->answer.kind == VmrunAnswer::Kind::guest_exit) {
    outcome.details["guest_exit"] = policy::Json(reply->answer.guest_exit);
  }
  if (!reply && !process->out.empty()) {
    outcome.details["text"] = policy::Json(redacted(process->out, login).substr(0, kLoggedText));
  }
  return outcome;
}

}  // namespace

Driver::Driver(const MachineSettings& settings, Processes& processes)
    : settings_(settings), processes_(processes) {}

std::shared_ptr<Turns> Driver::machine(const std::string& vmx) {
  auto& turns = machines_[vmx];
  if (!turns) turns = std::make_shared<Turns>(1);
  return turns;
}

asio::awaitable<Result<VmrunReply>> Driver::call(policy::Caller cause, VmrunCommand command,
                                                 std::stop_token stop) {
  if (engine_ == nullptr) {
    std::fputs("the vmrun driver was used before it had an engine\n", stderr);
    std::abort();
  }
  if (stop.stop_requested()) co_return policy::fail("cancelled", "cancelled before it began");
  auto pending = engine_->decide(cause, std::move(command.what));
  auto verdict = co_await settled(std::move(pending));
  auto* grant = std::get_if<policy::Grant<policy::Vmrun>>(&verdict);
  if (grant == nullptr) co_return tl::unexpected(std::visit(Refusal{}, verdict));
  co_return co_await carry_out(std::move(*grant), std::move(command.terms), std::move(stop));
}

asio::awaitable<Result<ProcessResult>> Driver::spawn(policy::Vmrun what, VmrunTerms terms,
                                                     std::stop_token stop) {
  Turns::Turn of_machine;
  const bool works = terms.lane == VmrunTerms::Lane::work;
  if (works && !what.vmx.empty()) {
    const auto queue = machine(what.vmx);
    auto turn = co_await queue->take(kPatience, stop);
    if (!turn) co_return tl::unexpected(turn.error());
    of_machine = std::move(*turn);
  }
  auto& places = works ? working_ : waiting_;
  auto place = co_await places.take(kPatience, stop);
  if (!place) co_return tl::unexpected(place.error());

  ProcessSpec spec;
  spec.program = settings_.vmrun;
  spec.arguments = vmrun_arguments(what, terms.login);
  spec.environment = settings_.environment;
  spec.deadline = terms.deadline;
  spec.growth = std::move(terms.growth);
  co_return co_await processes_.run(std::move(spec), std::move(stop));
}

asio::awaitable<Result<VmrunReply>> Driver::carry_out(policy::Grant<policy::Vmrun> grant, VmrunTerms terms,
                                                      std::stop_token stop) {
  const GuestLogin login = terms.login;
  auto process = co_await spawn(grant.action(), std::move(terms), std::move(stop));
  Result<VmrunReply> reply;
  if (!process) {
    auto& error = process.error();
    if (error.code == "process.start") {
      error = {"vmrun.missing", "vmrun cannot be started; set the path of vmrun to a program that exists"};
    }
    reply = tl::unexpected(error);
  } else if (process->end != ProcessEnd::exited || process->truncated) {
    reply = tl::unexpected(ended_badly(grant.action(), *process));
  } else {
    auto answer = classify(process->exit, process->out, process->err);
    if (answer.kind == VmrunAnswer::Kind::failed) {
      reply = tl::unexpected(std::move(answer.error));
    } else {
      reply = VmrunReply{std::move(answer), process->out};
    }
  }
  // A log that fails here fails the action that caused this; a machine on its way out must get there.
  (void)grant.close(outcome_of(reply, process ? &*process : nullptr, login));
  co_return reply;
}

asio::awaitable<Result<std::vector<std::string>>> Driver::running(policy::Caller cause, Freshness freshness,
                                                                  std::stop_token stop) {
  auto turn = co_await listing_.take(kPatience, stop);
  if (!turn) co_return tl::unexpected(turn.error());
  if (freshness == Freshness::shared && listed_ && steady_clock::now() - listed_->at <= kListShared) {
    co_return listed_->paths;
  }
  auto reply = co_await call(std::move(cause), list_command(), std::move(stop));
  if (!reply) co_return tl::unexpected(reply.error());
  auto paths = parse_list(reply->out);
  if (!paths) co_return tl::unexpected(paths.error());
  listed_ = Listed{steady_clock::now(), *paths};
  co_return *paths;
}

}  // namespace vmware
