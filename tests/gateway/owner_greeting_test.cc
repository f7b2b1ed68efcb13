#include "gateway/owner/greeting.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include "gateway/net/unix_socket.h"

namespace gateway {
namespace {

TEST(Hello, ReadsWhatItWrites) {
  const Hello hello{Hello::Kind::image_build, "0.1.0", "abc", "debian-12", "[\"--with\",\"nginx\"]"};
  const auto read = Hello::parse(hello.encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, hello.kind);
  EXPECT_EQ(read->version, hello.version);
  EXPECT_EQ(read->settings, hello.settings);
  EXPECT_EQ(read->name, hello.name);
  EXPECT_EQ(read->options, hello.options);
}

TEST(Hello, RefusesEverythingElse) {
  for (const char* line : {"", "{}", "[]", "7", "{\"kind\":\"root\"}", "{\"kind\":7}",
                           "{\"kind\":\"serve\",\"extra\":\"x\"}", "{\"kind\":\"serve\"", "GET / HTTP/1.1"}) {
    EXPECT_FALSE(Hello::parse(line)) << line;
  }
}

class GreetingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here_ = Descriptor(ends[0]);
    there_ = Descriptor(ends[1]);
  }
  Descriptor here_, there_;
  Greeting so_far_;
  std::string rest_;
};

TEST_F(GreetingTest, CarriesALineAndTwoDescriptors) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const Descriptor reading(pipe_ends[0]), writing(pipe_ends[1]);
  const int handed[] = {reading.get(), writing.get()};
  ASSERT_TRUE(send_greeting(here_.get(), "hello", handed, std::chrono::seconds(1)));
  ASSERT_TRUE(write_all(here_.get(), "after", std::chrono::seconds(1)));
  auto got = receive_greeting(there_.get(), so_far_, rest_);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->line, "hello");
  ASSERT_EQ((*got)->descriptors.size(), 2u);
  ASSERT_EQ(::write((*got)->descriptors[1].get(), "x", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(reading.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(GreetingTest, ArrivesInPieces) {
  ASSERT_TRUE(write_all(here_.get(), "hel", std::chrono::seconds(1)));
  auto got = receive_greeting(there_.get(), so_far_, rest_);
  ASSERT_TRUE(got);
  EXPECT_FALSE(*got);
  ASSERT_TRUE(write_all(here_.get(), "lo\nrest", std::chrono::seconds(1)));
  got = receive_greeting(there_.get(), so_far_, rest_);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->line, "hello");
  EXPECT_EQ(rest_, "rest");
}

TEST_F(GreetingTest, RefusesALineWithoutEnd) {
  ASSERT_TRUE(write_all(here_.get(), std::string(2 * kMaxGreeting, 'a'), std::chrono::seconds(1)));
  const auto got = receive_greeting(there_.get(), so_far_, rest_);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, "socket.greeting");
}

TEST_F(GreetingTest, SaysWhenTheOtherSideIsGone) {
  here_.reset();
  const auto got = receive_greeting(there_.get(), so_far_, rest_);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, "socket.closed");
}

TEST_F(GreetingTest, ReadingALineHasADeadline) {
  std::string buffered;
  const auto line = read_line(there_.get(), buffered, 100, std::chrono::milliseconds(20));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, "socket.timeout");
}

TEST(UnixSocket, RefusesAPathTheKernelWouldCut) {
  const auto listening = listen_unix("/tmp/" + std::string(120, 'a'));
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().code, "socket.path");
}

}  // namespace
}  // namespace gateway
