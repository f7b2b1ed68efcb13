#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "gateway/net/descriptor.h"
#include "policy/result.h"

namespace gateway {

using policy::Result;

// A client's two byte streams, whatever they are: pipes, sockets, a terminal, files. One reader coroutine at
// a time. Writes never wait: bytes queue up and leave in order. A client that does not read is cut when more
// than kMaxQueued bytes wait for it.
class Pipe final {
 public:
  static constexpr std::size_t kMaxQueued = std::size_t{64} << 20;

  // The two may be the same socket, given twice as descriptors of their own.
  Pipe(boost::asio::any_io_executor, Descriptor in, Descriptor out);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Some bytes; an empty string is the end of the stream, an error or close().
  boost::asio::awaitable<std::string> read_some();
  // Queues bytes; nothing happens after close() or a broken stream.
  void write(std::string bytes);
  // Ends reading and drops what is queued.
  void close();
  // Returns when the queue is empty, the stream broke, or `within` has passed.
  boost::asio::awaitable<void> drained(std::chrono::milliseconds within);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gateway
