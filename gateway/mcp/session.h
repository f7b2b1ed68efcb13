#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateway/mcp/elicitation.h"
#include "gateway/mcp/message.h"
#include "gateway/mcp/seal.h"
#include "gateway/mcp/tool_result.h"
#include "policy/clock.h"

namespace gateway::mcp {

// Legacy: `initialize` and a session. Modern (2026-07-28): every request stands alone.
enum class Era { legacy, modern };

// What the client says of itself; never a reason to trust it.
struct ClientInfo {
  std::string name;
  std::string version;
  std::string protocol;  // the revision spoken: `2025-11-25`
  Era era = Era::legacy;
};

// How the person can be asked through the client of a call: not at all, by a request of ours while the call
// waits, or by a result after which the client calls again.
enum class Reach { none, request, retry };

// Names one call of one session; never used twice.
enum class CallHandle : std::uint64_t {};

// A tool call to be judged and carried out. The owner must end each with Session::complete, a cancelled one
// too: its place among the calls in flight is free only then.
struct CallRequested {
  CallHandle handle{};
  RequestId id;
  std::string tool;   // one of Tools::names
  JsonPtr arguments;  // an object, never null
  bool wants_progress = false;
  ClientInfo client;
  Reach reach = Reach::none;
  std::optional<Answered> answered = {};  // what this call brings back of an earlier one with these arguments
};

// The client gave up: end the work. Whatever complete() is told afterwards is not sent.
struct CancelRequested {
  CallHandle handle{};
  std::string reason;  // the client's words, at most 500 bytes, may be empty
};

// Something to send, without a line end. `code` is the JSON-RPC error code, 0 for a result.
struct Answer {
  std::string line;
  int code = 0;
};

// Nothing to do: a notification, or a response that nothing waits for, as to a request that we never made.
struct Silence {};

using Fed = std::variant<Silence, Answer, CallRequested, CancelRequested, Answered>;

// The tools as this session's principal sees them.
struct Tools {
  std::string list;                // JSON array for `tools/list`, one line
  std::vector<std::string> names;  // what may be called, listed or not
};

// One client on one pipe, or one HTTP session, as a state machine without I/O: messages in, at most one
// answer or event out. Both eras are served side by side. No input ends it.
class Session final {
 public:
  struct Parts {
    std::string server_name = "sallyport";
    std::string server_title = "Sallyport";
    std::string server_version;
    std::string instructions;              // at most 2 KB, or clients cut it
    std::function<const Tools&()> tools;   // asked at each use, so that a new policy shows
    const policy::Clock* clock = nullptr;  // outlives the session
    std::size_t max_calls = 64;            // in flight
    // For questions that clients carry from one call to the next; one for all sessions of the owner. Null: a
    // key of the session's own.
    std::shared_ptr<const Seal> seal = {};
    std::string principal = {};  // whose session it is; what was sealed for another does not open
  };
  explicit Session(Parts);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One message, without its line end.
  Fed feed(std::string_view line);
  // A line that was longer than the transport keeps.
  Answer feed_too_long();

  // The answer to a call; empty when it was cancelled. The handle is finished afterwards.
  std::string complete(CallHandle, const ToolResult&);
  // The same with a question for the person, of a call with Reach::retry.
  std::string complete(CallHandle, const Elicitation&);
  // The request that puts a question to the person, whose end is an Answered or withdraw(); empty when the
  // client that sent `initialize` takes none.
  std::string elicit(const Elicitation&);
  // The notice that the question is over; empty when it is not open here. An answer that comes yet is
  // silence.
  std::string withdraw(std::string_view question);
  // A progress notification; empty when the client wants none, the call is younger than a second, or
  // `done` is not more than what was last sent.
  std::string progress(CallHandle, int done, int total, std::string_view message);

  // A notification that tools/list would answer something else than it did; empty when it would not, when
  // nobody asked for it yet, or in the modern era, where clients ask again by themselves.
  std::string tools_changed();

  // Calls not yet completed, cancelled ones included.
  std::vector<CallHandle> in_flight() const;
  // What `initialize` told; empty before it and in the modern era.
  std::optional<ClientInfo> client() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::string_view kLegacyRevisions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                        "2024-11-05"};  // newest first
inline constexpr std::string_view kModernRevisions[] = {"2026-07-28"};

// Teaches a model what the tools are for.
std::string default_instructions();

}  // namespace gateway::mcp
