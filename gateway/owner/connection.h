#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "gateway/approval/client_channel.h"
#include "gateway/call/calls.h"
#include "gateway/mcp/session.h"
#include "gateway/net/pipe.h"
#include "policy/request.h"

namespace gateway {

// One client and its calls, from the first line to the last. Lives until serve() returns.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  struct Parts {
    boost::asio::any_io_executor executor;
    std::unique_ptr<Pipe> pipe;
    policy::Subject subject;
    mcp::Session::Parts session;
    // Carries out one call; never throws.
    std::function<boost::asio::awaitable<mcp::ToolResult>(std::string tool, mcp::JsonPtr arguments,
                                                          policy::Caller, vmware::Progress, std::stop_token,
                                                          std::shared_ptr<ClientChannel>)>
        call;
    std::string early = {};  // what arrived from the client before the pipe was ours
    // Called once, before the first call, with what the client says of itself.
    std::function<void(const mcp::ClientInfo&)> opened = {};
    // What the client sent back of a question; never throws. Null: nobody is asked.
    std::function<boost::asio::awaitable<void>(policy::Caller, mcp::Answered)> answered = {};
  };
  explicit Connection(Parts);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads until the client's end or close(), then stops the calls in flight and gives them kGrace to end.
  boost::asio::awaitable<void> serve();
  // From outside: the owner stops, or the client's process is gone.
  void close();
  // Tells the client when other tools are offered now.
  void tools_changed();

  static constexpr std::chrono::milliseconds kGrace{1500};

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gateway
