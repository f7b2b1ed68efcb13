#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/net/standard_streams.h"
#include "gateway/net/unix_socket.h"
#include "gateway/owner/connection.h"
#include "gateway/owner/session_parts.h"
#include "gateway/owner/spawn.h"
#include "gateway/tools/encode.h"

namespace gateway::cli {
namespace asio = boost::asio;
namespace {

asio::awaitable<mcp::ToolResult> answer_with(mcp::ToolResult result) { co_return result; }

// No owner can serve this: every tool is listed and every call says why. Clients show a server that exits as
// "failed to connect", without a word.
int serve_refusing(const policy::Error& why, Descriptor in, Descriptor out) {
  std::fprintf(stderr, "sallyport: %s [%s]\n", why.message.c_str(), why.code.c_str());
  asio::io_context context(1);
  const policy::SystemClock clock;
  const auto refuse = [why](std::string, mcp::JsonPtr, policy::Caller, vmware::Progress, std::stop_token,
                            std::shared_ptr<ClientChannel>) { return answer_with(tools::failed(why)); };
  const auto connection = std::make_shared<Connection>(Connection::Parts{
      context.get_executor(), std::make_unique<Pipe>(context.get_executor(), std::move(in), std::move(out)),
      policy::Subject{}, session_parts(clock, everything_offered()), refuse});
  asio::co_spawn(context, connection->serve(), asio::detached);
  context.run();
  return 0;
}

}  // namespace

int serve(const Sources& sources) {
  auto streams = take_standard_streams();
  const auto settings = load_settings(sources);
  const int handed[] = {streams.in.get(), streams.out.get()};
  auto signals = end_signals();
  auto owner = greet_owner(sources, settings, Hello::Kind::serve, handed);
  if (!owner) return serve_refusing(owner.error(), std::move(streams.in), std::move(streams.out));
  // From here on the client's streams are the owner's alone, so that each side sees the other's end.
  streams.in.reset();
  streams.out.reset();
  // On a signal we just go: the owner sees the connection end and stops what this client asked for.
  if (wait_for_end(owner->get(), signals.get()) != Ended::hang_up) return 0;
  std::fprintf(stderr,
               "sallyport: the owner process ended unexpectedly; see owner.log in the state folder\n");
  return 1;
}

}  // namespace gateway::cli
