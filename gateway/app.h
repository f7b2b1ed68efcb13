#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "gateway/approval/client_channel.h"
#include "gateway/mcp/session.h"
#include "gateway/mcp/tool_result.h"
#include "gateway/settings/settings.h"
#include "policy/engine.h"
#include "vmware/machines.h"

namespace gateway {

// What a look at the policy files came to: what decided goes on doing so, or other rules do.
enum class PolicyNews { none, changed };

// Everything the owner holds, built in one place and passed to constructors; the order of the lines there is
// the order of the system.
class App final {
 public:
  App(boost::asio::any_io_executor, Settings);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // One tool call, from words to result. Never throws. A set-up that does not work is looked at again before
  // each call, so that building the image or mending a folder is enough.
  boost::asio::awaitable<mcp::ToolResult> call(std::string tool, mcp::JsonPtr arguments,
                                               policy::Caller caller, vmware::Progress progress,
                                               std::stop_token stop, std::optional<policy::Error> refusal,
                                               std::shared_ptr<ClientChannel> client);

  // One line of JSON for `sallyport status`.
  boost::asio::awaitable<Result<std::string>> status(policy::Caller caller);
  // One line of JSON for `sallyport policy status`: what is tried out, and what came of it.
  boost::asio::awaitable<Result<std::string>> policy_status(policy::Caller caller);
  // Decided like any action; then refuses every call and destroys all sandboxes, or lifts that.
  boost::asio::awaitable<Result<void>> kill_switch(policy::Caller caller, policy::KillSwitch::Position);
  // What rules ask of people just now, as far as it concerns this one: a line of JSON.
  boost::asio::awaitable<Result<std::string>> questions(policy::Caller caller);
  // A person's answer; see Desk::answer().
  boost::asio::awaitable<Result<void>> answer(policy::Caller caller, policy::Approve answer,
                                              std::vector<std::int32_t> ancestors);
  // What came back of a question that was put in the caller's client. Whatever it is, no error: a call that
  // waits for the answer says what it came to.
  boost::asio::awaitable<void> answer_in_client(policy::Caller caller, mcp::Answered answered);
  // For what the owner refuses before it becomes an action.
  void note_refusal(const policy::Caller&, std::string_view what, const policy::Error&);
  // The engine for what the owner itself carries out: images. It lives as long as the pointer does, whatever
  // becomes of the set-up meanwhile.
  std::shared_ptr<policy::Engine> engine();

  // Reads policy files that were changed, or all of them, and puts what they say in force at once.
  PolicyNews look_at_policy();
  PolicyNews reload_policy();
  // Whether any call of this action could be allowed to `who`. While something is wrong with the set-up,
  // every one could.
  bool may_be_allowed(const policy::Subject& who, std::string_view action) const;
  // Counts whatever may change that.
  std::uint64_t policy_version() const;

  // Age limits, orphans, principals that are gone: now and then.
  boost::asio::awaitable<void> sweep();
  void client_came(const policy::Subject&);
  void client_left(const policy::Subject&);
  std::size_t clients() const;
  std::size_t sandboxes() const;
  const policy::Clock& clock() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gateway
