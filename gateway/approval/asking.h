#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>
#include <variant>

#include <boost/asio/awaitable.hpp>

#include "gateway/approval/desk.h"
#include "gateway/tools/encode.h"
#include "policy/engine.h"
#include "vmware/settled.h"

namespace gateway {

// Who decides, and where people are asked.
struct Asking {
  policy::Engine* engine = nullptr;  // both outlive the call
  Desk* desk = nullptr;
  std::chrono::milliseconds max_wait{};        // for an answer, within one call
  std::shared_ptr<ClientChannel> client = {};  // null: nobody can be asked in the client of this call
};

// A grant, or what to tell the client instead.
template <class A>
using Decided = std::variant<policy::Grant<A>, mcp::ToolResult>;

// Decides. Where a rule asks a person, waits for the answer and decides again from the start with it.
template <class A>
boost::asio::awaitable<Decided<A>> decide(Asking by, policy::Caller caller, A action, std::stop_token stop) {
  while (true) {
    auto pending = by.engine->decide(caller, action);
    auto verdict = co_await vmware::settled(std::move(pending));
    if (auto* grant = std::get_if<policy::Grant<A>>(&verdict)) {
      Decided<A> granted(std::move(*grant));
      co_return granted;
    }
    if (const auto* denial = std::get_if<policy::Denial>(&verdict)) {
      Decided<A> refused(tools::refused(*denial));
      co_return refused;
    }
    const auto ask = std::move(*std::get_if<policy::Ask>(&verdict));
    auto waiting = by.desk->ask(caller.who, ask, by.max_wait, stop, by.client);
    auto reply = co_await std::move(waiting);
    if (!reply.approval) {
      Decided<A> unanswered(tools::unanswered(ask, reply));
      co_return unanswered;
    }
    caller.approval = std::move(reply.approval);
  }
}

}  // namespace gateway
