#include "gateway/owner/connection.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "gateway/owner/session_parts.h"
#include "gateway/owner/spawn.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

constexpr char kInitialize[] =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})"
    "\n";

std::string call(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"sandbox_list","arguments":{}}})" + "\n";
}

// A client's end of a socket and a connection whose calls the test answers.
class ConnectionTest : public ::testing::Test {
 protected:
  using Call = std::function<asio::awaitable<mcp::ToolResult>(std::string, mcp::JsonPtr, policy::Caller,
                                                              vmware::Progress, std::stop_token)>;
  using Client = std::shared_ptr<ClientChannel>;
  using Asking = std::function<asio::awaitable<mcp::ToolResult>(std::stop_token, Client)>;

  void open(Call carry_out) {
    open_parts([carry_out](std::string tool, mcp::JsonPtr words, policy::Caller caller,
                           vmware::Progress progress, std::stop_token stop, Client) {
      return carry_out(std::move(tool), std::move(words), std::move(caller), std::move(progress),
                       std::move(stop));
    });
  }
  void open_asking(Asking carry_out) {
    open_parts([carry_out](std::string, mcp::JsonPtr, policy::Caller, vmware::Progress, std::stop_token stop,
                           Client client) { return carry_out(std::move(stop), std::move(client)); });
  }
  void open_parts(decltype(Connection::Parts::call) carry_out) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = Descriptor(ends[0]);
    Descriptor out(duplicate(ends[1]).release());
    Connection::Parts parts{
        context_.get_executor(),
        std::make_unique<Pipe>(context_.get_executor(), Descriptor(ends[1]), std::move(out)),
        policy::Subject{}, session_parts(clock_, everything_offered()), std::move(carry_out)};
    parts.answered = [this](policy::Caller, mcp::Answered answered) { return keep(std::move(answered)); };
    connection_ = std::make_shared<Connection>(std::move(parts));
    asio::co_spawn(context_, connection_->serve(), [this](std::exception_ptr) { ended_ = true; });
  }
  asio::awaitable<void> keep(mcp::Answered answered) {
    answered_.push_back(std::move(answered));
    co_return;
  }
  void say(const std::string& text) {
    ASSERT_EQ(::write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void run_for(std::chrono::milliseconds time) {
    context_.restart();
    context_.run_for(time);
  }
  std::vector<nlohmann::json> heard() {
    std::string bytes(1 << 20, '\0');
    const auto got = ::recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    std::vector<nlohmann::json> messages;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto end = bytes.find('\n', at);
      messages.push_back(nlohmann::json::parse(bytes.substr(at, end - at)));
      at = end + 1;
    }
    return messages;
  }

  // Runs until that many messages came, on a busy machine too; more than 10 s is a failure.
  std::vector<nlohmann::json> hear(std::size_t count) {
    std::vector<nlohmann::json> all;
    for (int i = 0; i < 500 && all.size() < count; ++i) {
      run_for(std::chrono::milliseconds(20));
      for (auto& one : heard()) all.push_back(std::move(one));
    }
    return all;
  }

  asio::io_context context_{1};
  policy::SystemClock clock_;
  Descriptor client_;
  std::shared_ptr<Connection> connection_;
  std::vector<mcp::Answered> answered_;
  bool ended_ = false;
};

asio::awaitable<mcp::ToolResult> answer(std::string text) {
  co_return mcp::ToolResult{{mcp::Text{std::move(text)}}, "", {}};
}

asio::awaitable<mcp::ToolResult> wait_for_stop(std::stop_token stop, int* stopped) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!stop.stop_requested()) {
    timer.expires_after(std::chrono::milliseconds(2));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  ++*stopped;
  co_return mcp::ToolResult{};
}

TEST_F(ConnectionTest, AnswersCallsAndEndsWithItsClient) {
  open([](std::string tool, mcp::JsonPtr, policy::Caller, vmware::Progress, std::stop_token) {
    return answer(tool);
  });
  say(kInitialize + call(1));
  const auto messages = hear(2);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1]["id"], 1);
  EXPECT_EQ(messages[1]["result"]["content"][0]["text"], "sandbox_list");
  client_.reset();
  run_for(std::chrono::milliseconds(500));
  EXPECT_TRUE(ended_);
}

TEST_F(ConnectionTest, PassesOverLinesOfNothing) {
  open([](std::string tool, mcp::JsonPtr, policy::Caller, vmware::Progress, std::stop_token) {
    return answer(tool);
  });
  say("\n  \n\t\r\n" + std::string(kInitialize) + "\n" + call(1) + "\n\n");
  const auto messages = hear(2);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0]["id"], 0);
  EXPECT_EQ(messages[1]["id"], 1);
  run_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(heard().empty());
}

TEST_F(ConnectionTest, StopsTheCallsOfAClientThatIsGoneWithinTwoSeconds) {
  int stopped = 0;
  open([&stopped](std::string, mcp::JsonPtr, policy::Caller, vmware::Progress, std::stop_token stop) {
    return wait_for_stop(std::move(stop), &stopped);
  });
  say(kInitialize + call(1) + call(2));
  run_for(std::chrono::milliseconds(50));
  client_.reset();
  run_for(std::chrono::milliseconds(2000));
  EXPECT_TRUE(ended_);
  EXPECT_EQ(stopped, 2);
}

TEST_F(ConnectionTest, CancellingStopsOneCallAndAnswersNothing) {
  int stopped = 0;
  open([&stopped](std::string, mcp::JsonPtr, policy::Caller, vmware::Progress, std::stop_token stop) {
    return wait_for_stop(std::move(stop), &stopped);
  });
  say(kInitialize + call(1) + call(2));
  run_for(std::chrono::milliseconds(30));
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"
      "\n");
  run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(heard().size(), 1u);
  connection_->close();
  run_for(std::chrono::milliseconds(2000));
}

TEST_F(ConnectionTest, EachCallHasAnIdOfItsOwn) {
  std::vector<std::string> calls;
  open([&calls](std::string, mcp::JsonPtr, policy::Caller caller, vmware::Progress, std::stop_token) {
    calls.push_back(caller.id.call.text() + caller.who.client_name);
    return answer("");
  });
  say(kInitialize + call(1) + call(2));
  run_for(std::chrono::milliseconds(100));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_NE(calls[0], calls[1]);
  EXPECT_TRUE(calls[0].ends_with("t"));
  client_.reset();
  run_for(std::chrono::milliseconds(500));
}

// Puts a question and waits until it is stopped.
asio::awaitable<mcp::ToolResult> ask_and_wait(std::stop_token stop, std::shared_ptr<ClientChannel> client,
                                              int* stopped) {
  EXPECT_EQ(client->put("ask-1", "well?"), ClientChannel::Put::asked);
  auto waiting = wait_for_stop(std::move(stop), stopped);
  co_return co_await std::move(waiting);
}
asio::awaitable<mcp::ToolResult> ask_and_end(std::shared_ptr<ClientChannel> client) {
  if (client) {
    EXPECT_EQ(client->put("ask-1", "well?"), ClientChannel::Put::ends_call);
  }
  return answer("waiting");
}

TEST_F(ConnectionTest, AQuestionGoesOutWhileTheCallWaitsAndItsAnswerComesBack) {
  int stopped = 0;
  std::weak_ptr<ClientChannel> way;
  open_asking([&](std::stop_token stop, Client client) {
    way = client;
    return ask_and_wait(std::move(stop), std::move(client), &stopped);
  });
  std::string initialize = kInitialize;
  initialize.replace(initialize.find(R"("capabilities":{})"), 17, R"("capabilities":{"elicitation":{}})");
  say(initialize + call(1));
  const auto messages = hear(2);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1]["method"], "elicitation/create");
  EXPECT_EQ(messages[1]["params"]["message"], "well?");
  say(R"({"jsonrpc":"2.0","id":)" + messages[1]["id"].dump() + R"(,"result":{"action":"decline"}})" + "\n");
  run_for(std::chrono::milliseconds(50));
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_EQ(answered_[0].question, "ask-1");
  EXPECT_EQ(answered_[0].said, mcp::Said::no);
  way.lock()->withdraw("ask-1");
  EXPECT_TRUE(heard().empty()) << "it has its answer";
  client_.reset();
  run_for(std::chrono::milliseconds(2000));
  EXPECT_TRUE(ended_);
  EXPECT_EQ(stopped, 1);
}

TEST_F(ConnectionTest, AQuestionIsTheResultOfACallThatStandsAlone) {
  open_asking([](std::stop_token, Client client) { return ask_and_end(std::move(client)); });
  const auto modern = [](int id, const std::string& capabilities, const std::string& more) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
           R"(,"method":"tools/call","params":{"name":"sandbox_list","_meta":{)"
           R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
           R"("io.modelcontextprotocol/clientCapabilities":)" +
           capabilities + "}" + more + "}}\n";
  };
  say(modern(1, "{}", "") + modern(2, R"({"elicitation":{}})", ""));
  const auto messages = hear(2);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0]["result"]["content"][0]["text"], "waiting") << "a client that cannot be asked";
  EXPECT_EQ(messages[1]["result"]["resultType"], "input_required");
  EXPECT_FALSE(messages[1]["result"].contains("content"));
  EXPECT_TRUE(answered_.empty());
  say(modern(3, R"({"elicitation":{}})",
             R"(,"requestState":)" + messages[1]["result"]["requestState"].dump() +
                 R"(,"inputResponses":{"approval":{"action":"accept","content":{"approve":true}}})"));
  EXPECT_EQ(hear(1).size(), 1u);
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_EQ(answered_[0].question, "ask-1");
  EXPECT_EQ(answered_[0].said, mcp::Said::yes);
  client_.reset();
  run_for(std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace gateway
