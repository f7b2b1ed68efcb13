#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "enforcers/archive/tar_reader.h"
#include "enforcers/path_jail/jails.h"
#include "gateway/mcp/tool_result.h"
#include "gateway/tools/decoded.h"
#include "policy/engine.h"
#include "vmware/machines.h"

namespace boost::asio {
class thread_pool;
}

namespace gateway {

class ClientChannel;
class Desk;

using policy::Result;

// Joins jail, archive and the machines' byte streams to a copy. Disk work runs on a pool of its own.
class Copies final {
 public:
  struct Parts {
    policy::Engine* engine = nullptr;  // these outlive this
    vmware::Machines* machines = nullptr;
    policy::DecisionSink* sink = nullptr;
    Desk* desk = nullptr;
    std::chrono::milliseconds max_wait{};  // for a person's answer
    std::shared_ptr<const enforcers::Jails> transfers;
    std::string staging;  // private folder for bytes on their way; emptied at start
  };
  static Result<std::unique_ptr<Copies>> open(Parts);
  ~Copies();

  // Survey, decision, packing, unpacking in the guest.
  boost::asio::awaitable<mcp::ToolResult> in(tools::CopyIn what, policy::Caller caller, std::stop_token stop,
                                             std::shared_ptr<ClientChannel> client);
  // Decision, packing in the guest, fetching, the archive guard, a second decision, publishing.
  boost::asio::awaitable<mcp::ToolResult> out(policy::FetchOut what, policy::Caller caller,
                                              std::stop_token stop, std::shared_ptr<ClientChannel> client);

 private:
  explicit Copies(Parts);
  enforcers::TarLimits tar_limits() const;
  void note_refusal(const char* what, const policy::Caller&, const policy::Error&) const;
  Parts parts_;
  std::unique_ptr<boost::asio::thread_pool> workers_;
};

}  // namespace gateway
