#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "gateway/mcp/session.h"
#include "gateway/mcp/tool_result.h"
#include "policy/clock.h"
#include "policy/engine.h"
#include "vmware/machines.h"

namespace gateway {

class ClientChannel;
class Copies;
class Desk;

// One tool call from its words to its result: decode, decide, act. The same for every transport.
class Calls final {
 public:
  struct Parts {
    policy::Engine* engine = nullptr;  // all outlive this
    vmware::Machines* machines = nullptr;
    Copies* copies = nullptr;
    Desk* desk = nullptr;
    const policy::Clock* clock = nullptr;
    policy::DecisionSink* sink = nullptr;
    std::chrono::milliseconds max_wait{45'000};
    policy::Error closed = {};  // what to say where `machines` or `copies` is null
  };
  explicit Calls(Parts parts) : parts_(parts) {}

  // Never throws; whatever goes wrong is a result that says so. `refusal` is a reason to refuse this caller
  // whatever is asked; `client` is the way to the person in front of it, if there is one.
  boost::asio::awaitable<mcp::ToolResult> carry_out(std::string tool, mcp::JsonPtr arguments,
                                                    policy::Caller caller, vmware::Progress progress,
                                                    std::stop_token stop,
                                                    std::optional<policy::Error> refusal,
                                                    std::shared_ptr<ClientChannel> client);

 private:
  struct Work;
  // A call that never became an action is an event of its own.
  void note_refusal(const std::string& tool, const policy::Caller&, const policy::Error&) const;
  Parts parts_;
};

}  // namespace gateway
