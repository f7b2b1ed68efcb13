#include "gateway/call/calls.h"

#include <exception>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "gateway/approval/asking.h"
#include "gateway/call/copies.h"
#include "gateway/tools/encode.h"
#include "gateway/tools/table.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

using mcp::ToolResult;
using Answer = asio::awaitable<ToolResult>;

template <class T>
ToolResult result_of(const policy::Result<T>& done, auto encode) {
  return done ? encode(*done) : tools::failed(done.error());
}

}  // namespace

// One call at work: everything a visitor of the decoded call needs.
struct Calls::Work {
  Parts parts;
  policy::Caller caller;
  vmware::Progress progress;
  std::stop_token stop;
  std::shared_ptr<ClientChannel> client;

  tools::Now now() const { return std::chrono::floor<std::chrono::seconds>(parts.clock->wall()); }

  // Decides `action`; a grant goes to `act`, anything else becomes the result.
  template <class A, class Act>
  static Answer decided(Work work, A action, Act act) {
    const Asking asking{work.parts.engine, work.parts.desk, work.parts.max_wait, work.client};
    auto deciding = decide(asking, work.caller, std::move(action), work.stop);
    auto verdict = co_await std::move(deciding);
    if (auto* refused = std::get_if<ToolResult>(&verdict)) co_return std::move(*refused);
    auto grant = std::move(*std::get_if<policy::Grant<A>>(&verdict));
    if (work.parts.machines == nullptr) {
      (void)grant.close({.ok = false, .code = work.parts.closed.code});
      co_return tools::failed(work.parts.closed);
    }
    co_return co_await act(std::move(work), std::move(grant));
  }

  static Answer act(Work work, policy::Grant<policy::Create> grant) {
    const auto made = co_await work.parts.machines->create(std::move(grant), work.progress, work.stop);
    const auto at = work.now();
    co_return result_of(made, [at](const vmware::SandboxInfo& info) { return tools::created(info, at); });
  }
  static Answer act(Work work, policy::Grant<policy::List> grant) {
    const auto found = work.parts.machines->list(std::move(grant));
    const auto at = work.now();
    co_return result_of(found, [at](const auto& list) { return tools::listed(list, at); });
  }
  static Answer act(Work work, policy::Grant<policy::Run> grant) {
    const auto wait = work.parts.max_wait;
    const auto view = co_await work.parts.machines->run(std::move(grant), wait, work.progress, work.stop);
    co_return result_of(view, tools::ran);
  }
  static Answer act(Work work, policy::Grant<policy::Start> grant) {
    const auto view = co_await work.parts.machines->start(std::move(grant), work.stop);
    co_return result_of(view, tools::started);
  }
  static Answer act(Work work, policy::Grant<policy::Stop> grant) {
    const auto view = co_await work.parts.machines->stop(std::move(grant), work.stop);
    co_return result_of(view, [](const vmware::JobView& job) {
      const bool had_ended =
          job.status == vmware::JobStatus::exited || job.status == vmware::JobStatus::timed_out;
      return tools::stopped(job, had_ended ? tools::StopEffect::had_ended : tools::StopEffect::stopped);
    });
  }
  static Answer act(Work work, policy::Grant<policy::Screenshot> grant) {
    auto png = co_await work.parts.machines->screenshot(std::move(grant), work.stop);
    co_return png ? tools::screen(std::move(*png)) : tools::failed(png.error());
  }
  static Answer act(Work work, policy::Grant<policy::Destroy> grant) {
    const auto sandbox = grant.action().sandbox;
    const auto gone = co_await work.parts.machines->destroy(std::move(grant));
    co_return gone ? tools::destroyed(sandbox) : tools::failed(gone.error());
  }
  static Answer act(Work work, policy::Grant<policy::Extend> grant) {
    const auto info = work.parts.machines->extend(std::move(grant));
    const auto at = work.now();
    co_return result_of(info,
                        [at](const vmware::SandboxInfo& sandbox) { return tools::extended(sandbox, at); });
  }
  // Input is decided like everything else; what carries it out comes with the screen.
  template <class A>
  static Answer no_input_yet(policy::Grant<A> grant) {
    const policy::Error absent{"input.unavailable", "keyboard and mouse are not set up in this version"};
    (void)grant.close({.ok = false, .code = absent.code});
    co_return tools::failed(absent);
  }
  static Answer act(Work, policy::Grant<policy::Click> grant) { return no_input_yet(std::move(grant)); }
  static Answer act(Work, policy::Grant<policy::TypeText> grant) { return no_input_yet(std::move(grant)); }
  static Answer act(Work, policy::Grant<policy::PressKey> grant) { return no_input_yet(std::move(grant)); }

  static Answer look(Work work, tools::Offsets from, policy::Grant<policy::Check> grant) {
    const auto view = co_await work.parts.machines->check(std::move(grant), work.stop);
    co_return result_of(view, [from](const vmware::JobView& job) { return tools::checked(job, from); });
  }

  struct Visitor;
};

struct Calls::Work::Visitor {
  Work work;

  template <class A>
  Answer operator()(A action) {
    const auto step = [](Work inner, policy::Grant<A> grant) {
      return act(std::move(inner), std::move(grant));
    };
    return decided(std::move(work), std::move(action), step);
  }
  Answer operator()(tools::Check check) {
    const auto step = [from = check.from](Work inner, policy::Grant<policy::Check> grant) {
      return look(std::move(inner), from, std::move(grant));
    };
    return decided(std::move(work), std::move(check.action), step);
  }
  Answer operator()(tools::CopyIn copy) {
    if (work.parts.copies != nullptr) {
      return work.parts.copies->in(std::move(copy), work.caller, work.stop, work.client);
    }
    // Nothing can be surveyed; the refusal is decided and recorded all the same.
    return refusal_of(policy::CopyIn{copy.sandbox, copy.host_path, copy.guest_path, {}});
  }
  Answer operator()(policy::FetchOut fetch) {
    if (work.parts.copies != nullptr) {
      return work.parts.copies->out(std::move(fetch), work.caller, work.stop, work.client);
    }
    return refusal_of(std::move(fetch));
  }

 private:
  template <class A>
  Answer refusal_of(A action) {
    const auto step = [](Work inner, policy::Grant<A> grant) {
      return nothing(std::move(inner), std::move(grant));
    };
    return decided(std::move(work), std::move(action), step);
  }
  template <class A>
  static Answer nothing(Work work, policy::Grant<A> grant) {
    (void)grant.close({.ok = false, .code = work.parts.closed.code});
    co_return tools::failed(work.parts.closed);
  }
};

void Calls::note_refusal(const std::string& tool, const policy::Caller& caller,
                         const policy::Error& error) const {
  policy::Event event{.act = "call.refused", .level = "notice", .who = caller.who};
  event.object["tool"] = tool;
  event.object["code"] = error.code;
  event.object["call"] = caller.id.call.text();
  if (!error.where.empty()) event.object["argument"] = error.where;
  if (parts_.sink != nullptr) (void)parts_.sink->note(event);
}

Answer Calls::carry_out(std::string tool, mcp::JsonPtr arguments, policy::Caller caller,
                        vmware::Progress progress, std::stop_token stop, std::optional<policy::Error> refusal,
                        std::shared_ptr<ClientChannel> client) {
  try {
    if (refusal) {
      note_refusal(tool, caller, *refusal);
      co_return tools::failed(*refusal);
    }
    const auto* found = tools::find(tool);
    if (found == nullptr) co_return tools::failed({"argument.unknown_tool", "there is no tool of this name"});
    auto decoded = tools::decode(*found, *arguments);
    if (!decoded) {
      note_refusal(tool, caller, decoded.error());
      co_return tools::bad_argument(decoded.error());
    }
    Work work{parts_, std::move(caller), std::move(progress), std::move(stop), std::move(client)};
    auto answer = std::visit(Work::Visitor{std::move(work)}, std::move(*decoded));
    co_return co_await std::move(answer);
  } catch (const std::exception& error) {
    // Text of an exception may hold anything; it goes to the diagnostics and not to the client.
    spdlog::error("a call of {} failed inside: {}", tool, error.what());
  }
  co_return tools::failed({"internal", "the call failed inside Sallyport; its owner.log says more"});
}

}  // namespace gateway
