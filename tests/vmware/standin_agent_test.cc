#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "vmware/standin/guest_agent.h"

namespace standin {
namespace {

// The guest's end of the agent socket, in a folder as the runtime has it. Answers each request line with what
// `answer` says; closes the connection when that is empty.
class FakeGuest final {
 public:
  explicit FakeGuest(std::function<std::string(const std::string&)> answer) : answer_(std::move(answer)) {
    char name[] = "/tmp/standin-agent.XXXXXX";
    folder_ = mkdtemp(name);
    mkdir((folder_ + "/q").c_str(), 0700);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ + "/q/qga.sock").c_str());
    // SAFETY: the sockets interface takes every address family as sockaddr.
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 1) != 0)
      abort();
    server_ = std::thread([this] { serve(); });
  }
  ~FakeGuest() {
    shutdown(listener_, SHUT_RDWR);
    server_.join();
    close(listener_);
    std::filesystem::remove_all(folder_);
  }
  const std::string& folder() const { return folder_; }

 private:
  void serve() {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    std::string buffer;
    for (;;) {
      char piece[65536];
      const ssize_t got = recv(client, piece, sizeof piece, 0);
      if (got <= 0) break;
      buffer.append(piece, static_cast<std::size_t>(got));
      for (std::size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
        const std::string reply = answer_(buffer.substr(0, end));
        buffer.erase(0, end + 1);
        if (reply.empty() || !send_all(client, reply)) {
          close(client);
          return;
        }
      }
    }
    close(client);
  }
  static bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  std::function<std::string(const std::string&)> answer_;
  std::string folder_;
  int listener_ = -1;
  std::thread server_;
};

// The reply to guest-sync-delimited: its own number.
std::string synchronized(const std::string& request) {
  const std::size_t at = request.find("\"id\":");
  return "\xff{\"return\": " + request.substr(at + 5, request.find('}', at) - at - 5) + "}\n";
}

// Synchronizes honestly and then answers everything with `reply`.
auto then(std::string reply) {
  return [reply = std::move(reply)](const std::string& request) {
    return request.find("guest-sync-delimited") != std::string::npos ? synchronized(request) : reply;
  };
}

Deadline soon() { return after(Millis{2000}); }

TEST(StandinGuestAgent, DropsWhatWasMeantForAnEarlierClient) {
  const FakeGuest guest([](const std::string& request) {
    return "{\"return\": {\"pid\": 1}}\nnoise \xff noise\n\xff{\"return\": 1}\n" + synchronized(request);
  });
  EXPECT_TRUE(GuestAgent::connect(guest.folder(), soon()));
}

TEST(StandinGuestAgent, ReadsAProcessFromStartToEnd) {
  const FakeGuest guest([](const std::string& request) -> std::string {
    if (request.find("guest-sync") != std::string::npos) return synchronized(request);
    if (request.find("guest-exec-status") == std::string::npos) return "{\"return\": {\"pid\": 42}}\n";
    return R"({"return": {"exited": true, "exitcode": 7, "out-data": "aGk="}})"
           "\n";
  });
  auto agent = GuestAgent::connect(guest.folder(), soon());
  ASSERT_TRUE(agent);
  EXPECT_EQ(*agent->start({"/bin/x"}, "agent", "in", soon()), 42);
  const auto ended = agent->poll(42, soon());
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ((*ended)->code, 7);
  EXPECT_EQ((*ended)->out, "hi");
}

TEST(StandinGuestAgent, AnswersThatAreNoAnswersFailAndNothingElse) {
  const std::string table[] = {
      "\n",
      "[]\n",
      "null\n",
      "{\"return\": null}\n",
      "{\"return\": {\"pid\": \"1\"}}\n",
      "{\"return\": {\"pid\": 1.5}}\n",
      "{\"return\": [[[[[[\n",
      std::string(200000, '[') + "\n",
      "{\"error\": {\"class\": \"GenericError\"}}\n",
      std::string("{\"return\": {\"pid\0\": 1}}\n", 24),
      "\xff\xfe\n",
      "",
  };
  for (const std::string& reply : table) {
    const FakeGuest guest(then(reply));
    auto agent = GuestAgent::connect(guest.folder(), soon());
    ASSERT_TRUE(agent);
    EXPECT_FALSE(agent->start({"/bin/x"}, "agent", "", soon())) << reply.substr(0, 60);
  }
}

TEST(StandinGuestAgent, OutputThatIsNotBase64Fails) {
  const FakeGuest guest(then("{\"return\": {\"exited\": true, \"exitcode\": 0, \"out-data\": \"!!!!\"}}\n"));
  auto agent = GuestAgent::connect(guest.folder(), soon());
  ASSERT_TRUE(agent);
  EXPECT_FALSE(agent->poll(1, soon()));
}

TEST(StandinGuestAgent, AFloodWithoutALineEndIsCutOff) {
  const FakeGuest guest(then(std::string(JsonChannel::kMaxLine + (1 << 20), 'x')));
  auto agent = GuestAgent::connect(guest.folder(), soon());
  ASSERT_TRUE(agent);
  EXPECT_EQ(agent->start({"/bin/x"}, "agent", "", after(Millis{20000})).error().message,
            "a line is too long");
}

TEST(StandinGuestAgent, SilenceEndsAtTheDeadline) {
  const FakeGuest guest([](const std::string&) { return std::string("\n"); });
  const auto before = std::chrono::steady_clock::now();
  const auto agent = GuestAgent::connect(guest.folder(), after(Millis{300}));
  ASSERT_FALSE(agent);
  EXPECT_LT(std::chrono::steady_clock::now() - before, Millis{5000});
}

TEST(StandinGuestAgent, AnAddressIsAnAddressOrNothing) {
  const FakeGuest guest(then(
      R"({"return": [1, {}, {"ip-addresses": 3}, {"ip-addresses": [{"ip-address": "127.0.0.1"}, {"ip-address": "10.0.2.15\nError: x"}, {"ip-address": "10.0.2.15"}]}]})"
      "\n"));
  auto agent = GuestAgent::connect(guest.folder(), soon());
  ASSERT_TRUE(agent);
  EXPECT_EQ(*agent->address(soon()), "10.0.2.15");
}

}  // namespace
}  // namespace standin
