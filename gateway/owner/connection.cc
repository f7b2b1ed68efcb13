#include "gateway/owner/connection.h"

#include <map>
#include <stop_token>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/mcp/line_reader.h"

namespace gateway {
namespace asio = boost::asio;

namespace {

// Keeps the question of one call, whose result it becomes.
struct Round final : ClientChannel {
  Put put(const std::string& question, const std::string& message) override {
    asked = mcp::Elicitation{question, message};
    return Put::ends_call;
  }
  void withdraw(const std::string&) override {}

  std::optional<mcp::Elicitation> asked;
};

}  // namespace

struct Connection::State final : ClientChannel, std::enable_shared_from_this<Connection::State> {
  explicit State(Parts given)
      : parts(std::move(given)), session(std::move(parts.session)), idle(parts.executor) {}

  void send(std::string line) {
    if (line.empty()) return;
    line.push_back('\n');
    parts.pipe->write(std::move(line));
  }

  Put put(const std::string& question, const std::string& message) override {
    auto line = session.elicit({question, message});
    if (line.empty()) return Put::failed;
    send(std::move(line));
    return Put::asked;
  }
  void withdraw(const std::string& question) override { send(session.withdraw(question)); }

  void take(std::string_view line) {
    // A line of nothing asks for nothing: clients end with one, and keep a connection warm with them.
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    auto fed = session.feed(line);
    if (auto* answer = std::get_if<mcp::Answer>(&fed)) {
      send(std::move(answer->line));
    } else if (auto* asked = std::get_if<mcp::CallRequested>(&fed)) {
      begin(std::move(*asked));
    } else if (auto* given_up = std::get_if<mcp::CancelRequested>(&fed)) {
      if (const auto at = calls.find(given_up->handle); at != calls.end()) at->second.request_stop();
    } else if (auto* answered = std::get_if<mcp::Answered>(&fed)) {
      const auto client = session.client();
      asio::co_spawn(
          parts.executor,
          pass_on(shared_from_this(), caller(client.value_or(mcp::ClientInfo{}), {}), std::move(*answered)),
          asio::detached);
    }
  }

  void begin(mcp::CallRequested asked) {
    if (parts.opened) std::exchange(parts.opened, nullptr)(asked.client);
    auto stop = calls[asked.handle].get_token();
    asio::co_spawn(parts.executor, carry_out(shared_from_this(), std::move(asked), std::move(stop)),
                   asio::detached);
  }

  policy::Caller caller(const mcp::ClientInfo& client, std::string request) const {
    policy::Caller caller{parts.subject,
                          policy::Correlation{policy::CallId::random(), std::move(request), {}}};
    caller.who.client_name = client.name;
    caller.who.client_version = client.version;
    return caller;
  }

  static asio::awaitable<void> pass_on(std::shared_ptr<State> state, policy::Caller by,
                                       mcp::Answered answered) {
    if (!state->parts.answered) co_return;
    auto passing = state->parts.answered(std::move(by), std::move(answered));
    co_await std::move(passing);
  }

  static asio::awaitable<void> carry_out(std::shared_ptr<State> state, mcp::CallRequested asked,
                                         std::stop_token stop) {
    const auto caller = state->caller(asked.client, mcp::spelling(asked.id));
    const auto round = asked.reach == mcp::Reach::retry ? std::make_shared<Round>() : nullptr;
    std::shared_ptr<ClientChannel> client = round;
    if (asked.reach == mcp::Reach::request) client = state;
    if (asked.answered) {
      auto passing = pass_on(state, caller, std::move(*asked.answered));
      co_await std::move(passing);
    }
    const auto handle = asked.handle;
    const std::weak_ptr<State> weak = state;
    vmware::Progress progress = [weak, handle](int done, int total, const std::string& what) {
      if (const auto alive = weak.lock()) alive->send(alive->session.progress(handle, done, total, what));
    };
    auto calling = state->parts.call(asked.tool, asked.arguments, caller, progress, stop, client);
    const auto result = co_await std::move(calling);
    const bool asks = round && round->asked;
    state->send(asks ? state->session.complete(handle, *round->asked)
                     : state->session.complete(handle, result));
    state->calls.erase(handle);
    if (state->calls.empty()) state->idle.cancel();
  }

  Parts parts;
  mcp::Session session;
  std::map<mcp::CallHandle, std::stop_source> calls;
  asio::steady_timer idle;
};

Connection::Connection(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {}
Connection::~Connection() = default;

asio::awaitable<void> Connection::serve() {
  const auto state = state_;
  mcp::LineReader lines;
  std::string bytes = std::move(state->parts.early);
  while (true) {
    if (bytes.empty()) bytes = co_await state->parts.pipe->read_some();
    if (bytes.empty()) break;
    lines.push(std::exchange(bytes, {}));
    while (auto line = lines.next()) {
      if (line->kind == mcp::LineReader::Kind::too_long) {
        state->send(state->session.feed_too_long().line);
      } else {
        state->take(line->text);
      }
    }
  }
  if (auto last = lines.finish()) {
    if (last->kind == mcp::LineReader::Kind::line) state->take(last->text);
  }
  const auto until = std::chrono::steady_clock::now() + kGrace;
  // Short calls end by themselves; whoever still works after a moment is told to stop.
  state->idle.expires_after(std::chrono::milliseconds(200));
  if (!state->calls.empty()) {
    co_await state->idle.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  for (auto& [handle, stop] : state->calls) stop.request_stop();
  while (!state->calls.empty() && std::chrono::steady_clock::now() < until) {
    state->idle.expires_at(until);
    co_await state->idle.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_await state->parts.pipe->drained(std::chrono::milliseconds(300));
  state->parts.pipe->close();
}

void Connection::tools_changed() { state_->send(state_->session.tools_changed()); }

void Connection::close() { state_->parts.pipe->close(); }

}  // namespace gateway
