#include "gateway/owner/owner.h"

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "gateway/app.h"
#include "gateway/approval/ancestry.h"
#include "gateway/image/images.h"
#include "gateway/net/unix_socket.h"
#include "gateway/owner/connection.h"
#include "gateway/owner/greeting.h"
#include "gateway/owner/session_parts.h"
#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"
#include "gateway/tools/encode.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

using Socket = asio::local::stream_protocol::socket;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds kGreetingTime{5};
constexpr std::chrono::seconds kSweep{5};
constexpr std::chrono::milliseconds kPolicyWatch{500};
constexpr std::size_t kMaxQuestionId = 64;
constexpr std::size_t kMaxConnections = 200;
constexpr std::size_t kMaxConnectionsOfUser = 50;  // of the service

class Context : public asio::io_context {
 public:
  using asio::io_context::io_context;
  // Drops whatever still waits, once it has stopped. Grants that go with it write to the log, so it must be
  // there.
  void abandon() { shutdown(); }
};

class Owner final {
 public:
  Owner(Context& context, Settings settings, Descriptor listening)
      : context_(context),
        settings_(std::move(settings)),
        app_(context.get_executor(), settings_),
        acceptor_(context, asio::local::stream_protocol(), listening.release()),
        signals_(context, SIGTERM, SIGINT),
        reload_(context, SIGHUP),
        sweep_(context),
        watch_(context),
        idle_since_(std::chrono::steady_clock::now()) {}

  void start() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) stop();
    });
    asio::co_spawn(context_, accept(), asio::detached);
    asio::co_spawn(context_, sweep(), asio::detached);
    asio::co_spawn(context_, reload_on_signal(), asio::detached);
    asio::co_spawn(context_, watch_policy(), asio::detached);
  }

 private:
  asio::awaitable<void> accept() {
    while (!stopping_) {
      auto accepted = co_await acceptor_.async_accept(kToken);
      auto& [error, socket] = accepted;
      if (error) {
        if (stopping_) break;
        // Out of descriptors, most likely: let some go before trying again.
        asio::steady_timer pause(context_, std::chrono::milliseconds(50));
        co_await pause.async_wait(kToken);
        continue;
      }
      if (connections_.size() >= kMaxConnections) continue;
      asio::co_spawn(context_, welcome(std::make_shared<Socket>(std::move(socket))), asio::detached);
    }
  }

  asio::awaitable<void> welcome(std::shared_ptr<Socket> socket) {
    const auto peer = peer_of(socket->native_handle());
    if (!peer || !may_connect(*peer)) co_return;
    Greeting so_far;
    std::string rest;
    asio::steady_timer deadline(context_, kGreetingTime);
    deadline.async_wait([socket](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) socket->close(ignored);
    });
    while (true) {
      auto greeting = receive_greeting(socket->native_handle(), so_far, rest);
      if (!greeting) co_return;
      if (*greeting) {
        so_far = std::move(**greeting);
        break;
      }
      auto ready = co_await socket->async_wait(Socket::wait_read, kToken);
      if (std::get<0>(ready)) co_return;
    }
    deadline.cancel();
    const auto hello = Hello::parse(so_far.line);
    if (!hello) {
      answer(*socket, {{"error", hello.error().message}});
      co_return;
    }
    co_await attend(socket, *hello, std::move(so_far.descriptors), *peer, std::move(rest));
  }

  bool is_service() const { return settings_.deployment == Deployment::service; }

  // Personal: only our own user, and root with an answer to a question. The service: whom the socket's group
  // lets in, but never our own user, as which machines run that a guest may have broken out into.
  bool may_connect(const Peer& peer) const {
    return (peer.uid == own_user()) != is_service() || (!is_service() && peer.uid == 0);
  }

  // What concerns every user is for the computer's administrator; a personal owner has one user.
  std::optional<policy::Error> not_for(const Peer& peer, Hello::Kind kind) const {
    const bool answers = kind == Hello::Kind::questions || kind == Hello::Kind::answer_allow ||
                         kind == Hello::Kind::answer_deny;
    if (!is_service()) {
      if (answers || peer.uid == own_user()) return std::nullopt;
      return policy::Error{
          "owner.foreign",
          "this is the owner process of another user, from whom only questions are answered"};
    }
    switch (kind) {
      case Hello::Kind::serve:
      case Hello::Kind::cli:
      case Hello::Kind::status:
      case Hello::Kind::questions:
      case Hello::Kind::answer_allow:
      case Hello::Kind::answer_deny:
        return std::nullopt;
      case Hello::Kind::policy_status:
        if (peer.uid == 0) return std::nullopt;
        return policy::Error{"service.administrator",
                             "what the service's policy counts is about every user, and shown to root"};
      case Hello::Kind::kill_switch_on:
      case Hello::Kind::kill_switch_off:
        if (peer.uid == 0) return std::nullopt;
        return policy::Error{
            "service.administrator",
            "the service's kill switch is for root: it concerns every user; destroy your own "
            "sandboxes with `sallyport sandbox rm`"};
      case Hello::Kind::stop:
        return policy::Error{"service.administrator", "the service is stopped by `systemctl stop sallyport`"};
      case Hello::Kind::image_build:
      case Hello::Kind::image_remove:
        return policy::Error{"service.administrator",
                             "the service's images are made by an administrator: run "
                             "`/usr/lib/sallyport/service-image` as root, or build one of your own with "
                             "SALLYPORT_DEPLOYMENT=personal"};
    }
    return std::nullopt;
  }

  policy::Subject subject_of(const Peer& peer, policy::Transport transport) const {
    policy::Subject subject;
    subject.principal = policy::PrincipalId{"uid:" + std::to_string(peer.uid)};
    subject.transport = transport;
    subject.uid = peer.uid;
    subject.pid = peer.pid;
    subject.os_user = account_name(peer.uid);
    subject.session = policy::SessionId::random();
    return subject;
  }

  asio::awaitable<void> attend(std::shared_ptr<Socket> socket, Hello hello,
                               std::vector<Descriptor> descriptors, Peer peer, std::string rest) {
    const auto serving = hello.kind == Hello::Kind::serve;
    auto subject = subject_of(peer, serving ? policy::Transport::stdio : policy::Transport::cli);
    const policy::Caller caller{subject, {policy::CallId::random(), {}, {}}};
    const auto mismatch = difference(hello);
    if (const auto refused = not_for(peer, hello.kind)) {
      app_.note_refusal(caller, spelling(hello.kind), *refused);
      answer_result(*socket, tl::unexpected(*refused));
      co_return;
    }
    switch (hello.kind) {
      case Hello::Kind::serve:
        if (descriptors.size() != 2) co_return;
        co_await serve(socket, std::move(descriptors[0]), std::move(descriptors[1]), subject, mismatch, {});
        break;
      case Hello::Kind::cli: {
        auto in = duplicate(socket->native_handle());
        auto out = duplicate(socket->native_handle());
        socket->close();
        co_await serve(nullptr, std::move(in), std::move(out), subject, mismatch, std::move(rest));
        break;
      }
      case Hello::Kind::status: {
        const auto text = co_await app_.status(caller);
        answer_text(*socket, text);
        break;
      }
      case Hello::Kind::policy_status: {
        const auto text = co_await app_.policy_status(caller);
        answer_text(*socket, text);
        break;
      }
      case Hello::Kind::kill_switch_on:
      case Hello::Kind::kill_switch_off: {
        const auto position = hello.kind == Hello::Kind::kill_switch_on ? policy::KillSwitch::Position::on
                                                                        : policy::KillSwitch::Position::off;
        const auto done = co_await app_.kill_switch(caller, position);
        answer_result(*socket, done);
        break;
      }
      case Hello::Kind::image_build:
      case Hello::Kind::image_remove: {
        if (mismatch) {
          answer_result(*socket, tl::unexpected(*mismatch));
          break;
        }
        ++busy_;
        Result<void> done;
        const auto engine = app_.engine();
        if (hello.kind == Hello::Kind::image_build) {
          done = co_await build_image(*engine, caller, hello, std::move(descriptors));
        } else {
          done = co_await remove_image(*engine, caller, hello);
        }
        --busy_;
        answer_result(*socket, done);
        break;
      }
      case Hello::Kind::questions: {
        const auto text = co_await app_.questions(caller);
        answer_text(*socket, text);
        break;
      }
      case Hello::Kind::answer_allow:
      case Hello::Kind::answer_deny: {
        const auto said = hello.kind == Hello::Kind::answer_allow ? policy::Approve::Answer::allow
                                                                  : policy::Approve::Answer::deny;
        policy::Approve approve{said, hello.name.substr(0, kMaxQuestionId)};
        auto answering = app_.answer(caller, std::move(approve), ancestors_of(peer.pid));
        const auto done = co_await std::move(answering);
        answer_result(*socket, done);
        break;
      }
      case Hello::Kind::stop:
        answer(*socket, {{"ok", true}});
        stop();
        break;
    }
  }

  // Another program version or other settings on the same state folder: serving it with ours would do
  // something else than its user configured.
  std::optional<policy::Error> difference(const Hello& hello) const {
    if (hello.version != SALLYPORT_VERSION) {
      return policy::Error{"owner.version",
                           "the running owner is version " SALLYPORT_VERSION " and this program is " +
                               hello.version.substr(0, 20) + "; run `sallyport daemon --stop` and try again"};
    }
    // With the service its own settings hold, whatever its clients have.
    if (!is_service() && hello.settings != settings_.digest.hex()) {
      return policy::Error{
          "owner.settings",
          "the running owner of this state folder was started with other settings; run `sallyport "
          "daemon --stop`, or give this one a `state_dir` of its own"};
    }
    return std::nullopt;
  }

  asio::awaitable<void> serve(std::shared_ptr<Socket> control, Descriptor in, Descriptor out,
                              policy::Subject subject, std::optional<policy::Error> mismatch,
                              std::string early) {
    // One user must not be able to shut out the others.
    if (is_service() && users_[*subject.uid] >= kMaxConnectionsOfUser) co_return;
    ++users_[*subject.uid];
    const auto key = ++last_connection_;
    Connection::Parts parts;
    parts.executor = context_.get_executor();
    parts.pipe = std::make_unique<Pipe>(context_.get_executor(), std::move(in), std::move(out));
    parts.subject = subject;
    parts.early = std::move(early);
    Offering offering{
        [this, subject](const tools::Tool& tool) { return app_.may_be_allowed(subject, tool.action); },
        [this] { return app_.policy_version(); }};
    parts.session = subject.transport == policy::Transport::cli
                        ? command_session_parts(app_.clock())
                        : session_parts(app_.clock(), std::move(offering));
    parts.call = [this, mismatch](std::string tool, mcp::JsonPtr arguments, policy::Caller caller,
                                  vmware::Progress progress, std::stop_token stop,
                                  std::shared_ptr<ClientChannel> client) {
      return app_.call(std::move(tool), std::move(arguments), std::move(caller), std::move(progress),
                       std::move(stop), mismatch, std::move(client));
    };
    parts.answered = [this](policy::Caller caller, mcp::Answered answered) {
      return app_.answer_in_client(std::move(caller), std::move(answered));
    };
    parts.session.seal = seal_;
    parts.session.principal = subject.principal.text;
    const auto connection = std::make_shared<Connection>(std::move(parts));
    connections_.emplace(key, connection);
    app_.client_came(subject);
    if (control) asio::co_spawn(context_, watch(control, connection), asio::detached);
    co_await connection->serve();
    app_.client_left(subject);
    connections_.erase(key);
    if (--users_[*subject.uid] == 0) users_.erase(*subject.uid);
    boost::system::error_code ignored;
    if (control && control->is_open()) answer_line(*control, "done");
    if (control) control->close(ignored);
    idle_since_ = std::chrono::steady_clock::now();
  }

  // The stub sends nothing; its connection ends when its process does, however it ended.
  static asio::awaitable<void> watch(std::shared_ptr<Socket> control, std::weak_ptr<Connection> weak) {
    char byte = 0;
    auto into = asio::buffer(&byte, 1);
    co_await control->async_read_some(into, kToken);
    if (const auto connection = weak.lock()) connection->close();
  }

  asio::awaitable<void> reload_on_signal() {
    while (!stopping_) {
      auto got = co_await reload_.async_wait(kToken);
      if (std::get<0>(got)) break;
      tell(app_.reload_policy());
    }
  }

  asio::awaitable<void> watch_policy() {
    while (!stopping_) {
      watch_.expires_after(kPolicyWatch);
      auto waited = co_await watch_.async_wait(kToken);
      if (std::get<0>(waited)) break;
      tell(app_.look_at_policy());
    }
  }

  void tell(PolicyNews news) {
    if (news == PolicyNews::none) return;
    for (const auto& [key, connection] : connections_) connection->tools_changed();
  }

  asio::awaitable<void> sweep() {
    while (!stopping_) {
      co_await app_.sweep();
      const auto now = std::chrono::steady_clock::now();
      // What starts the service decides when it ends.
      if (is_service() || !connections_.empty() || app_.sandboxes() > 0 || busy_ > 0) idle_since_ = now;
      if (now - idle_since_ >= settings_.idle_exit) {
        stop();
        break;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(settings_.idle_exit - (now - idle_since_));
      sweep_.expires_after(std::min<std::chrono::milliseconds>(kSweep, left + std::chrono::milliseconds(1)));
      co_await sweep_.async_wait(kToken);
    }
  }

  void stop() {
    if (std::exchange(stopping_, true)) return;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    signals_.cancel(ignored);
    reload_.cancel(ignored);
    sweep_.cancel();
    watch_.cancel();
    for (const auto& [key, connection] : connections_) connection->close();
    asio::co_spawn(context_, finish(), asio::detached);
  }

  asio::awaitable<void> finish() {
    const auto until = std::chrono::steady_clock::now() + Connection::kGrace + std::chrono::milliseconds(100);
    asio::steady_timer pause(context_);
    while (!connections_.empty() && std::chrono::steady_clock::now() < until) {
      pause.expires_after(std::chrono::milliseconds(5));
      co_await pause.async_wait(kToken);
    }
    context_.stop();
  }

  static void answer_line(Socket& socket, const std::string& line) {
    (void)write_all(socket.native_handle(), line + "\n", std::chrono::milliseconds(100));
  }
  static void answer(Socket& socket, const nlohmann::json& json) {
    answer_line(socket, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  static void answer_result(Socket& socket, const Result<void>& result) {
    if (result) {
      answer(socket, {{"ok", true}});
    } else {
      answer(socket, {{"error", result.error().message}, {"code", result.error().code}});
    }
  }

  static void answer_text(Socket& socket, const Result<std::string>& text) {
    if (text) return answer_line(socket, *text);
    answer_result(socket, tl::unexpected(text.error()));
  }

  Context& context_;
  const Settings settings_;
  App app_;
  asio::local::stream_protocol::acceptor acceptor_;
  asio::signal_set signals_;
  asio::signal_set reload_;
  asio::steady_timer sweep_;
  asio::steady_timer watch_;
  const std::shared_ptr<const mcp::Seal> seal_ = std::make_shared<const mcp::Seal>();
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::map<std::uint32_t, std::size_t> users_;  // connections of each
  std::uint64_t last_connection_ = 0;
  std::chrono::steady_clock::time_point idle_since_;
  int busy_ = 0;
  bool stopping_ = false;
};

Result<Descriptor> listen(const Settings& settings) {
  if (settings.deployment != Deployment::service) return listen_unix(settings.socket_path());
  const auto group = group_number(settings.service_group);
  if (!group) return tl::unexpected(group.error());
  return listen_unix(settings.socket_path(), *group);
}

}  // namespace

int run_owner(Settings settings, int ready_fd) {
  harden_process();
  Descriptor ready(ready_fd);
  if (auto made = make_private_folder(settings.state_dir); !made) {
    spdlog::error("{}", made.error().message);
    return 1;
  }
  // The owner before us may still be on its way out.
  auto lock = take_lock(settings.state_dir + "/owner.lock");
  for (int tries = 0; !lock && lock.error().code == "lock.held" && tries < 300; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lock = take_lock(settings.state_dir + "/owner.lock");
  }
  if (!lock) {
    spdlog::error("{}", lock.error().message);
    return 1;
  }
  auto listening = listen(settings);
  if (!listening) {
    spdlog::error("{}", listening.error().message);
    return 1;
  }
  const auto socket_path = settings.socket_path();
  Context context(1);
  {
    Owner owner(context, std::move(settings), std::move(*listening));
    owner.start();
    if (ready) tell_ready(ready);
    ready.reset();
    context.run();
    context.abandon();
  }
  (void)remove_file(socket_path);
  return 0;
}

}  // namespace gateway
